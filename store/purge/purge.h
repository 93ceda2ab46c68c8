// purge_store(): removes all traces with a matching span from a data directory that no server uses.
//
// Purpose: what a person asks to be deleted goes from blocks, indexes, logs and captures at once, not when retention
// comes to it. A trace goes whole, because its other spans tell of the same request. A capture goes if it is of such a
// trace, or if its content tells of one. How: everything else is copied to DIR/purge by StoreCopy, the copy is searched
// again, and then takes the place of DIR/store and DIR/captures. Space: that of the rest is needed once more. Crashes:
// until the copy is complete, nothing has changed; after that, the next start completes the exchange. Memory: one
// segment, 16 bytes for each trace that goes, and the largest capture. Thread safety: one thread per call. Errors:
// kInvalid: the directory cannot be purged as it is, and the message names the fix; kUnavailable: in use, or the disk
// has no room; kCorrupt: the directory is damaged, and a repair comes first; kCancelled: nothing has changed; the rest
// as the disk says.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/clock/clock_reading.h"
#include "store/purge/exchange.h"
#include "store/purge/purge_set.h"
#include "store/verify/findings.h"

namespace fathom::store {

struct PurgeRequest {
  std::string directory;
  PurgeRule rule;
  bool dry_run = false;  // only counts, and changes nothing
  // Removes the snapshots of purged traces, which the store does not know. Called once, when the copy is checked and
  // not yet in use: after a crash, the traces are still there, and the purge can be repeated.
  std::function<Result<>(const PurgeSet& purged)> remove_snapshots = {};
  ReadClocks read_clocks = store::read_clocks;
};

struct PurgeReport {
  PurgeSet purged;
  uint64_t spans = 0;  // of the purged traces; of a dry run, only those that match
  uint64_t spans_left = 0;
};

Result<PurgeReport> purge_store(const PurgeRequest& request, const Findings::Progress& progress = {});

// Completes the exchange of a purge that was interrupted, and removes what an unfinished one left. To be called before
// the store is opened; the lock keeps purges away until then. Nothing: there is no such directory yet. kUnavailable: a
// purge is under way.
Result<std::optional<PurgeLock>> complete_purge(const std::string& directory);

}  // namespace fathom::store
