#include "node-agent/snapshots/snapshot_metrics.h"

#include "base/capture_trigger.h"

namespace fathom::agent {

namespace {

constexpr SnapshotSkip kSkips[] = {SnapshotSkip::kUnavailable, SnapshotSkip::kRate, SnapshotSkip::kBusy,
                                   SnapshotSkip::kUnknownUser, SnapshotSkip::kFailed};
constexpr const char* kLosses[] = {"spool_full", "refused", "damaged"};
constexpr double kStopSeconds[] = {0.00001, 0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.1};
constexpr double kUnrecordedSeconds[] = {0.0001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};

Counter& cut(std::string_view trigger) {
  return counter("fathom_agent_snapshots_total", "Snapshots that were cut, by what triggered them.",
                 label("trigger", trigger));
}
Counter& cut_bytes(std::string_view trigger) {
  return counter("fathom_agent_snapshot_packet_bytes_total", "Packets in them.", label("trigger", trigger));
}
Counter& skipped(std::string_view trigger, SnapshotSkip reason) {
  return counter("fathom_agent_snapshots_skipped_total", "Snapshots that were triggered, and not cut.",
                 label("trigger", trigger) + "," + label("reason", name_of(reason)));
}
MetricHistogram& stopped() {
  return histogram("fathom_agent_snapshot_stop_seconds", "From a trigger's bell until all rings stood still.",
                   kStopSeconds);
}
MetricHistogram& unrecorded() {
  return histogram("fathom_agent_snapshot_unrecorded_seconds", "From the rings' stop until they went on.",
                   kUnrecordedSeconds);
}

void list_trigger_metrics(std::string_view trigger) {
  cut(trigger), cut_bytes(trigger);
  for (SnapshotSkip reason : kSkips) skipped(trigger, reason);
}

}  // namespace

const char* name_of(SnapshotSkip reason) {
  constexpr const char* kNames[] = {"unavailable", "rate", "busy", "unknown_user", "failed"};
  static_assert(std::size(kNames) == static_cast<size_t>(SnapshotSkip::kFailed) + 1);
  return kNames[static_cast<size_t>(reason)];
}

void count_cut(std::string_view trigger, uint64_t packet_bytes) {
  cut(trigger).add();
  cut_bytes(trigger).add(packet_bytes);
}

void count_skipped_snapshot(std::string_view trigger, SnapshotSkip reason) {
  skipped(trigger, reason).add();
}

void observe_stopped(uint64_t nano) {
  stopped().observe(static_cast<double>(nano) / 1e9);
}

void observe_unrecorded(uint64_t nano) {
  unrecorded().observe(static_cast<double>(nano) / 1e9);
}

Gauge& pt_armed() {
  return gauge("fathom_agent_pt_armed", "Whether Intel PT records; 0 also where it should, and the host cannot.");
}

Counter& sent_snapshots() {
  return counter("fathom_agent_sent_snapshots_total", "Snapshots that the collector has.");
}
Counter& sent_snapshot_bytes() {
  return counter("fathom_agent_sent_snapshot_bytes_total", "Bytes of snapshots and images that were sent.");
}
Counter& snapshot_retries() {
  return counter("fathom_agent_snapshot_retries_total", "Times that a snapshot had to wait for the collector.");
}
Counter& refused_images() {
  return counter("fathom_agent_refused_snapshot_images_total", "Images that the collector does not take.");
}
Counter& left_out_snapshot_bytes() {
  return counter("fathom_agent_snapshot_left_out_bytes_total",
                 "Packets that snapshots lack because another user's process, or an unknown one, ran meanwhile.");
}
Gauge& snapshot_spool_bytes() {
  return gauge("fathom_agent_snapshot_spool_bytes", "Snapshots and images on this host's disk.");
}
Counter& lost_snapshots(std::string_view reason) {
  return counter("fathom_agent_lost_snapshots_total", "Snapshots that were cut, and did not come home.",
                 label("reason", reason));
}

void list_snapshot_metrics() {
  for (std::string_view trigger : kCaptureTriggerNames) {
    if (trigger != name_of(CaptureTrigger::kCrash)) list_trigger_metrics(trigger);  // of a process that is gone, none
  }
  list_trigger_metrics("symbol");
  for (const char* reason : kLosses) lost_snapshots(reason);
  stopped(), unrecorded(), pt_armed(), snapshot_spool_bytes();
  sent_snapshots(), sent_snapshot_bytes(), snapshot_retries(), refused_images(), left_out_snapshot_bytes();
}

std::vector<std::pair<std::string, uint64_t>> snapshot_losses() {
  std::vector<std::pair<std::string, uint64_t>> losses;
  for (const char* reason : kLosses) {
    if (uint64_t count = lost_snapshots(reason).value(); count != 0)
      losses.emplace_back(std::string("snapshot_") + reason, count);
  }
  return losses;
}

}  // namespace fathom::agent
