// The steps of a repair that copy one kind of rows each, and what they need in common.
//
// Thread safety: one thread. Ownership: everything given outlives the calls. Errors: of the target's disk; damage to
// the source goes to the findings.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "store/capture.h"
#include "store/verify/findings.h"
#include "store/verify/repair_clock.h"
#include "store/verify/repair_target.h"
#include "store/verify/row_scan.h"
#include "store/verify/store_source.h"

namespace fathom::store {

struct RepairCopy {
  StoreSource& source;
  RepairTarget& target;
  Findings& findings;
  RepairClock clock = {};
  std::optional<std::string> lost_stage = {};  // why batches that no segment has may be missing
  // A purge copies a part; without these, everything is kept.
  std::function<bool(const TraceId& id)> keeps_trace = {};
  std::function<bool(const CaptureInfo& info)> keeps_capture = {};

  // Asked between two segments; true: the copy ends with kCancelled.
  std::function<bool()> is_cancelled = {};

  bool keeps_all() const { return !keeps_trace; }
};

// Opens the database of a source whose files may be damaged. Damage to a family that is read as a whole is a finding.
Result<> open_damaged_source(RepairCopy& copy);

// Calls `copy` with every readable row in [begin, end); after an error of `copy` with no more of them.
using CopyRow = std::function<Result<>(std::string_view key, std::string_view value)>;
Result<> copy_rows(const RepairCopy& repair, Family family, const std::string& begin, const std::string& end,
                   const CopyRow& copy, const RowScan::OnGap& on_gap);

// What segments hold, as far as a repair knows.
struct SealedState {
  uint64_t last_sequence = 0;
  uint64_t newest_received_unix_nano = 0;
};

// Batches that no segment has. Records what is lost between them, and what damage to the logs destroyed.
Result<> copy_stage(const RepairCopy& repair, const SealedState& sealed);
// Captures whose headers and contents are intact.
Result<> copy_captures(const RepairCopy& repair);

// Adds segments that have blocks and no readable record. The record is derived from the directory; the times of
// reception are taken from the neighbouring segments, or are the newest stamp that is known.
void add_orphans(const RepairCopy& repair, View& view);

}  // namespace fathom::store
