// The metrics of captures: what was made, what was skipped and why, how soon overdue spans are seen.
//
// Thread safety: as base/metrics.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "node-agent/triggers/trigger_limits.h"

namespace fathom::agent {

// `content_bytes`: 0 of all but one that share a content.
void count_made(CaptureTrigger trigger, uint64_t content_bytes);
// For those who count often.
Counter& skipped_counter(CaptureTrigger trigger, SkipReason reason);
void count_skipped(CaptureTrigger trigger, SkipReason reason, uint64_t times = 1);
// From a span's passing its threshold to the copy of its events.
void observe_overdue(uint64_t late_nano);
// What is kept in memory until it is known whether it is wanted: of this node's slow requests; of other nodes'.
void show_provisional_bytes(uint64_t bytes);
void show_held_bytes(uint64_t bytes);
// What was lost of them for want of room, as the collector hears of it: reason and number of all that are not zero.
// That a limit was reached is none.
std::vector<std::pair<std::string, uint64_t>> capture_losses();

}  // namespace fathom::agent
