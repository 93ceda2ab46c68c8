// purge_data(): removes the requests that match conditions from a whole data directory: spans, captures, snapshots.
//
// Purpose: store::purge_store() with what the store does not know: how captures are decoded, and which snapshots are of
// purged traces. No server uses the directory meanwhile. Thread safety: one thread per call. Errors: those of
// purge_store().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/condition.h"
#include "store/verify/findings.h"

namespace fathom::query {

struct DataPurge {
  std::string directory;
  std::vector<store::Condition> where;  // one span meets all of them
  bool dry_run = false;                 // only counts, and changes nothing
  std::function<bool()> is_cancelled = [] { return false; };
};

struct PurgeCounts {
  uint64_t traces = 0;
  uint64_t spans = 0;  // of a dry run, only those that match
  uint64_t spans_left = 0;
  uint64_t captures = 0;
  uint64_t skipped_captures = 0;
  uint64_t snapshots = 0;
  std::vector<std::string> unreadable_captures;  // ids of captures that are kept, because nobody can decode them

  bool none() const { return traces + captures + skipped_captures + snapshots == 0; }
  // Everything was searched, and nothing that matches is left.
  bool is_complete() const { return unreadable_captures.empty(); }
};

Result<PurgeCounts> purge_data(const DataPurge& purge, const store::Findings::Progress& progress = {});

// {"traces": ..., ...}, without an end of line.
std::string to_json(const PurgeCounts& counts);

}  // namespace fathom::query
