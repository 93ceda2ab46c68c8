#include "collector/agents/capture_info.h"

#include <utility>

#include "ingest/limits.h"

namespace fathom::collector {

static_assert(ingest::kMostLosses <= store::kMostCaptureLosses &&
                  ingest::kMostNameBytes <= store::kMostCaptureTextBytes,
              "what is read of a capture's header is within the store's limits");

store::CaptureInfo capture_info(ingest::CaptureBegin begin, const ingest::NodeId& node_id,
                                const std::string& node_name) {
  store::CaptureInfo info{.id = begin.id,
                          .trace_id = begin.trace_id,
                          .node_id = node_id,
                          .node_name = node_name,
                          .service = std::move(begin.service),
                          .pid = begin.pid,
                          .trigger = begin.trigger,
                          .operation = std::move(begin.operation),
                          .span_id = begin.span_id,
                          .start_unix_nano = corrected_unix_nano(begin.start_unix_nano, begin.clock),
                          .end_unix_nano = corrected_unix_nano(begin.end_unix_nano, begin.clock),
                          .clock = begin.clock,
                          .crosses_clock_jump = begin.crosses_clock_jump,
                          .truncated = begin.truncated,
                          .size_bytes = begin.size_bytes,
                          .sha256 = begin.sha256};
  for (auto& [name, count] : begin.losses) {
    if (!name.empty()) info.losses.push_back({std::move(name), count});
  }
  return info;
}

store::SkippedCapture skipped_capture(ingest::SkippedCapture skipped, const ingest::NodeId& node_id,
                                      const std::string& node_name) {
  return {.trace_id = skipped.trace_id,
          .span_id = skipped.span_id,
          .node_id = node_id,
          .node_name = node_name,
          .service = std::move(skipped.service),
          .pid = skipped.pid,
          .trigger = skipped.trigger,
          .reason = skipped.reason,
          .operation = std::move(skipped.operation),
          .skipped_unix_nano = skipped.skipped_unix_nano};
}

}  // namespace fathom::collector
