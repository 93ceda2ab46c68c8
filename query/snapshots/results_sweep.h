// Sweeps the kept answers about snapshots: those of snapshots that are gone, and the oldest beyond a size.
//
// Purpose: fathom-worker keeps what it worked out as files; they can always be worked out again. A file whose name
// begins with "ID-", or "ID-ID-", goes with the first of these snapshots that goes, so no answer needs an age of its
// own. Thread safety: one sweep at a time;
// others may write files meanwhile. Errors: none; what cannot be looked at is left.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "query/snapshots/summary.h"

namespace fathom::query {

struct SweepRules {
  std::function<bool(const SnapshotId&)> is_stored;
  uint64_t most_bytes = UINT64_MAX;
};

struct Swept {
  uint64_t kept_bytes = 0;
  uint64_t dropped = 0;
};

Swept sweep_results(const std::string& directory, const SweepRules& rules);

}  // namespace fathom::query
