// Spans of the workloads as OTLP protobuf bytes, written straight into a buffer.
//
// Purpose: make load at a fraction of what storing it costs. A span is one field `spans` of ScopeSpans, tag and length
// included, so that a request is a short head and the spans' bytes one after the other. Thread safety: immutable after
// construction. Ownership: the encoder keeps a reference to the workload. Contract: kSpanRoom bytes free at `at`.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "bench/workload.h"

namespace fathom::bench {

inline constexpr size_t kSpanRoom = 1024;

class SpanEncoder {
 public:
  explicit SpanEncoder(const Workload& workload, const Fleet& fleet = {});
  // Returns where the next span goes.
  char* append(char* at, const TraceFacts& facts, uint32_t position, const SpanTimes& times) const;
  // What stands before `body_bytes` of spans of a service's process: the request up to its first span.
  std::string request_head(uint32_t service, size_t body_bytes, uint32_t process = 0) const;

 private:
  // What all spans of one operation have in common, ready to copy.
  struct Template {
    std::string name_and_kind;
    std::string constant_attributes;
    std::string path_before_number;
  };

  const Workload& workload_;
  std::array<std::array<Template, kPositions>, kRoutes> templates_;
  std::array<std::vector<std::string>, kServices> resources_;  // by process
  std::string scope_;
};

}  // namespace fathom::bench
