#include "node-agent/triggers/capture_metrics.h"

namespace fathom::agent {

namespace {

constexpr double kLateSeconds[] = {0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.01, 0.02, 0.05, 0.1, 1};

std::string label_of(CaptureTrigger trigger) {
  return label("trigger", name_of(trigger));
}

uint64_t skipped(SkipReason reason) {
  uint64_t sum = 0;
  for (std::string_view name : kCaptureTriggerNames) {
    sum += skipped_counter(*capture_trigger_of(name), reason).value();
  }
  return sum;
}

}  // namespace

Counter& skipped_counter(CaptureTrigger trigger, SkipReason reason) {
  return counter("fathom_agent_captures_skipped_total", "Captures that were triggered or requested, but not made.",
                 label_of(trigger) + "," + label("reason", name_of(reason)));
}

void count_made(CaptureTrigger trigger, uint64_t content_bytes) {
  counter("fathom_agent_captures_total", "Captures that were made, by what triggered them.", label_of(trigger)).add();
  counter("fathom_agent_capture_bytes_total", "Bytes of captured contents; a shared content counts once.",
          label_of(trigger))
      .add(content_bytes);
}

void count_skipped(CaptureTrigger trigger, SkipReason reason, uint64_t times) {
  skipped_counter(trigger, reason).add(times);
}

void show_provisional_bytes(uint64_t bytes) {
  static Gauge& gauge = fathom::gauge("fathom_agent_provisional_capture_bytes",
                                      "Bytes of captures of requests that may be among the slowest of their minute.");
  gauge.set(static_cast<int64_t>(bytes));
}

void show_held_bytes(uint64_t bytes) {
  static Gauge& gauge =
      fathom::gauge("fathom_agent_held_capture_bytes", "Bytes of captures of traces that another process may request.");
  gauge.set(static_cast<int64_t>(bytes));
}

std::vector<std::pair<std::string, uint64_t>> capture_losses() {
  std::vector<std::pair<std::string, uint64_t>> losses;
  for (SkipReason reason : {SkipReason::kBusy, SkipReason::kMemory, SkipReason::kOverwritten, SkipReason::kFailed}) {
    if (uint64_t count = skipped(reason); count != 0)
      losses.emplace_back("capture_" + std::string(name_of(reason)), count);
  }
  return losses;
}

void observe_overdue(uint64_t late_nano) {
  static MetricHistogram& late =
      histogram("fathom_agent_overdue_seen_seconds",
                "From a span's passing its threshold, while it ran, to its events being copied.", kLateSeconds);
  late.observe(static_cast<double>(late_nano) / 1e9);
}

}  // namespace fathom::agent
