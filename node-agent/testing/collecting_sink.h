// CollectingSink: remembers the numbers, names and thread ids of the spans that it receives. For tests.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "node-agent/pool/pool_reader.h"

namespace fathom::agent::testing {

inline uint64_t number_of(const SpanRecordView& span) {
  uint64_t number;
  std::memcpy(&number, span.head.span_id, sizeof number);
  return number - 1;
}

class CollectingSink : public SpanSink {
 public:
  bool span(const SpanRecordView& span) override {
    numbers.push_back(number_of(span));
    names.emplace_back(span.name);
    tids.push_back(span.tid);
    return true;
  }
  std::vector<uint64_t> numbers;
  std::vector<std::string> names;
  std::vector<uint32_t> tids;
};

}  // namespace fathom::agent::testing
