// The metrics of captures: made ones, skipped ones and their reasons, and the delay until overdue spans are seen.
//
// Thread safety: as base/metrics.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "node-agent/triggers/trigger_limits.h"

namespace fathom::agent {

// `content_bytes`: if several captures share a content, 0 for all of them except one.
void count_made(CaptureTrigger trigger, uint64_t content_bytes);
// The counter of count_skipped(), for callers that count often.
Counter& skipped_counter(CaptureTrigger trigger, SkipReason reason);
void count_skipped(CaptureTrigger trigger, SkipReason reason, uint64_t times = 1);
// `late_nano`: the time from a span's threshold to the copy of its events.
void observe_overdue(uint64_t late_nano);
// Bytes of captures in memory that may still be sent: those of ProvisionalCaptures; those of HeldTraces.
void show_provisional_bytes(uint64_t bytes);
void show_held_bytes(uint64_t bytes);
// Skipped captures by reason, as reported to the collector: `busy`, `memory`, `overwritten`, `failed`, if not zero.
// Captures that a limit prevented are no losses.
std::vector<std::pair<std::string, uint64_t>> capture_losses();

}  // namespace fathom::agent
