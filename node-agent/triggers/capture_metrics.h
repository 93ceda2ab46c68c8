// The metrics of captures: what was made, what was skipped and why, how soon overdue spans are seen.
//
// Thread safety: as base/metrics.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "node-agent/triggers/trigger_limits.h"

namespace fathom::agent {

void count_made(CaptureTrigger trigger, uint64_t content_bytes);
void count_skipped(CaptureTrigger trigger, SkipReason reason, uint64_t times = 1);
// From a span's passing its threshold to the copy of its events.
void observe_overdue(uint64_t late_nano);
// What was lost of them for want of room, as the collector hears of it: reason and number of all that are not zero.
// That a limit was reached is none.
std::vector<std::pair<std::string, uint64_t>> capture_losses();

}  // namespace fathom::agent
