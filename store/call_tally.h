// CallTally: calls between services, counted as an engine comes by them, and failed calls that nobody answered.
//
// Purpose: what a call is and when it failed (scan.h), in one place for every engine. Operations go by an engine's own
// numbers, so that counting costs no names. Thread safety: none; one query. Ownership: owns what it counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/scan.h"
#include "store/span_store.h"

namespace fathom::store {

// Of a client span: the name of the service that it calls, as OpenTelemetry has it.
inline constexpr std::string_view kPeerService = "peer.service";

struct CallSpan {
  uint64_t operation = 0;  // the engine's number
  SpanKind kind = SpanKind::kUnspecified;
  bool error = false;
  uint64_t duration_nano = 0;
};

class CallTally {
 public:
  using FindOperation = std::function<OperationKey(uint64_t operation)>;
  // Those that spans are stored of, whatever their namespace.
  using FindServices = std::function<std::vector<ServiceKey>(const std::string& name)>;

  // `callee` is a child of `caller`, and of another service.
  void add(const CallSpan& caller, const CallSpan& callee);
  // `caller` is unanswered (below), and has failed; `peer`: its kPeerService, or nothing.
  void add_unanswered(const CallSpan& caller, const std::string& peer);
  // Edges, and what has no place among them.
  void finish(const FindOperation& operation_of, const FindServices& services_named, CallSample& sample) const;

 private:
  struct Count {
    uint64_t calls = 0;
    uint64_t errors = 0;
    Histogram durations;

    void add(bool failed, uint64_t duration_nano);
  };
  std::map<std::pair<uint64_t, uint64_t>, Count> calls_;          // by (caller, callee)
  std::map<std::pair<uint64_t, std::string>, Count> unanswered_;  // by (caller, peer)
};

// What a span or its resource has of kPeerService, as value_text() spells it: of several the least, or nothing.
std::string peer_of(const SpanView& span, const ResourceView& resource);

// Whether a failed span is a call of its own; then it is unanswered unless a child of it answers.
inline bool is_failed_call(const CallSpan& span) {
  return span.kind == SpanKind::kClient && span.error;
}
// A child that is a client's, too, is the call itself: an attempt of several, or a layer below.
inline bool answers(bool of_other_service, SpanKind kind) {
  return of_other_service || kind == SpanKind::kClient;
}

}  // namespace fathom::store
