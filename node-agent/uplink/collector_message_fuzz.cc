// Any bytes as a message of the collector: no fault in memory, and nothing beyond the limits comes out.
#include <cstdint>
#include <cstdlib>

#include "node-agent/uplink/messages.h"
#include "proto/ingest_limits.h"

namespace {

using namespace fathom;
using namespace fathom::agent;

void check(bool holds) {
  if (!holds) std::abort();
}

struct Limits {
  void operator()(const AskedThresholds& asked) const {
    check(asked.operations.size() <= ingest::kMostThresholds);
    for (const OperationThreshold& one : asked.operations) {
      check(one.service_namespace.size() <= 1024 && one.service.size() <= 1024 && one.operation.size() <= 1024);
    }
  }
  void operator()(const AskedCapture& asked) const {
    check(asked.request.service.size() <= 1024 && asked.request.reason.size() <= 256);
    const CaptureRequest& request = asked.request;
    bool somebody = request.trace_id != decltype(request.trace_id){} || request.pid != 0 || !request.service.empty();
    check(somebody || !asked.fault.empty());
  }
  void operator()(const AskedTracepoints& asked) const {
    check(asked.request.patterns.size() <= ingest::kMostPatterns);
    for (const std::string& pattern : asked.request.patterns) check(pattern.size() <= ingest::kMostPatternBytes);
  }
  void operator()(const AskedRules& asked) const {
    check(asked.rules.size() <= ingest::kMostRules);
    size_t bytes = 0;
    for (const TracepointRule& rule : asked.rules) {
      bytes += rule.pattern.size();
      check(rule.service.size() <= 1024);
    }
    check(bytes <= ingest::kMostRulesBytes);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto words = parse_collector_message({reinterpret_cast<const char*>(data), size});
  if (words && words->control) std::visit(Limits{}, *words->control);
  return 0;
}
