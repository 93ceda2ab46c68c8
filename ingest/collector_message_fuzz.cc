// Any bytes as a message of the collector: no fault in memory, and nothing beyond the limits comes out.
#include <cstdint>
#include <cstdlib>

#include "ingest/collector_messages.h"
#include "ingest/limits.h"

namespace {

using namespace fathom::ingest;

void check(bool holds) {
  if (!holds) std::abort();
}

struct Limits {
  void operator()(const SaidThresholds& said) const {
    check(said.thresholds.operations.size() <= kMostThresholds);
    for (const OperationThreshold& one : said.thresholds.operations) {
      check(one.service_namespace.size() <= kMostNameBytes && one.service.size() <= kMostNameBytes);
      check(one.operation.size() <= kMostNameBytes);
    }
  }
  void operator()(const Asked<CaptureRequest>& asked) const {
    const CaptureRequest& request = asked.request;
    check(request.service.size() <= kMostNameBytes && request.reason.size() <= kMostTextBytes);
    check(!request.trace_id.is_zero() || request.pid != 0 || !request.service.empty() || !asked.fault.empty());
  }
  void operator()(const Asked<TracepointRequest>& asked) const {
    check(asked.request.patterns.size() <= kMostPatterns);
    for (const std::string& pattern : asked.request.patterns) check(pattern.size() <= kMostPatternBytes);
  }
  void operator()(const Asked<std::vector<TracepointRule>>& asked) const {
    check(asked.request.size() <= kMostRules);
    size_t bytes = 0;
    for (const TracepointRule& rule : asked.request) {
      bytes += rule.pattern.size();
      check(rule.service.size() <= kMostNameBytes);
    }
    check(bytes <= kMostRulesBytes);
  }
  void operator()(const Asked<RedactionRules>& asked) const {
    check(asked.request.rules.size() <= kMostRedactionRules && asked.request.key.size() <= kMostRedactionKeyBytes);
    check(asked.request.fingerprint.size() <= kMostFingerprintBytes);
    check(asked.request.fingerprint.empty() == asked.request.rules.empty());
    size_t bytes = 0;
    for (const std::string& rule : asked.request.rules) bytes += rule.size();
    check(bytes <= kMostRedactionBytes);
  }
  void operator()(const CaptureProgress& progress) const { check(progress.message.size() <= kMostTextBytes); }
  template <typename Other>
  void operator()(const Other&) const {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto message = parse_collector_message({reinterpret_cast<const char*>(data), size});
  if (message) std::visit(Limits{}, *message);
  return 0;
}
