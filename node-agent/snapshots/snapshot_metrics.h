// The metrics of snapshots: what was cut, what was not and why, what was lost on its way home.
//
// Thread safety: as base/metrics.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/metrics.h"

namespace fathom::agent {

enum class SnapshotSkip : uint8_t {
  kUnavailable,  // asked for (--pt), and the host cannot
  kRate,         // more than there may be
  kBusy,         // another one is being cut
  kUnknownUser,  // the triggering process's, whose programs alone it may show
  kFailed,       // the system, or the disk
};
const char* name_of(SnapshotSkip reason);

void count_cut(std::string_view trigger, uint64_t packet_bytes);
void count_skipped_snapshot(std::string_view trigger, SnapshotSkip reason);
// From the bell until all rings stood still.
void observe_stopped(uint64_t nano);
// From then until they went on: what ran meanwhile is not recorded.
void observe_unrecorded(uint64_t nano);
Gauge& pt_armed();

Counter& sent_snapshots();
Counter& sent_snapshot_bytes();
Counter& snapshot_retries();
Counter& refused_images();
Counter& left_out_snapshot_bytes();
Gauge& snapshot_spool_bytes();
// spool_full, refused, damaged
Counter& lost_snapshots(std::string_view reason);

void list_snapshot_metrics();  // at 0, before anything happens
// What was lost, as the collector hears of it.
std::vector<std::pair<std::string, uint64_t>> snapshot_losses();

}  // namespace fathom::agent
