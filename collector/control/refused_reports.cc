#include "collector/control/refused_reports.h"

#include "collector/control/control_metrics.h"

namespace fathom::collector {

namespace {

store::SkippedCapture refused_at(const ConnectedNode& node, const store::CaptureInfo& info, uint64_t now_unix_nano) {
  return {.trace_id = info.trace_id,
          .node_id = node.node_id,
          .node_name = node.host_name,
          .trigger = CaptureTrigger::kRemote,
          .reason = SkipReason::kRefused,
          .operation = info.operation,
          .skipped_unix_nano = now_unix_nano};
}

}  // namespace

void RefusedReports::report(const store::CaptureInfo& info, const std::vector<ConnectedNode>& nodes, uint64_t now_nano,
                            uint64_t now_unix_nano) {
  if (!reported_.add(info.trace_id, now_nano)) return;
  std::vector<store::SkippedCapture> reports;
  for (const ConnectedNode& node : nodes) {
    if (put_ && rate_.take(now_nano))
      reports.push_back(refused_at(node, info, now_unix_nano));
    else
      ControlMetrics::get().dropped_reports.add();
  }
  if (!reports.empty()) put_(std::move(reports));
}

}  // namespace fathom::collector
