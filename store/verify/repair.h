// repair_store(): salvages everything that is intact in a damaged data directory into a new one.
//
// Purpose: the new directory answers as the old one did, less what is reported as lost: spans keep their partitions,
// sequences and times of reception, so paging and retention go on. The age clock is copied; without a readable one,
// ages are counted from the newest stored data. Segments are sealed anew from the rows of intact blocks; a block is the
// unit of loss. Losses are recorded in the new directory, where SpanStore::losses() reports them. Contents of captures
// are copied, not linked, so that damage to one file does not reach both directories. The source is not changed, and no
// server can start on it meanwhile. Crashes: the new directory is made as NEW.unfinished and renamed when it is
// complete and durable. A later run begins anew; a finished directory is recognised and left as it is, if it was made
// of the same source. Thread safety: one thread per call. Memory: one segment. Errors: kInvalid: a directory is wrong,
// or one is inside the other; kUnsupported: a newer program wrote the source; kCorrupt: a revert of the source's
// upgrade is not finished; kUnavailable: in use, or the disk has no room; the rest as the disk says. Damage is a
// finding, not an error.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/sync_directory.h"
#include "store/clock/clock_reading.h"
#include "store/verify/findings.h"

namespace fathom::store {

struct RepairSpace {
  uint64_t needed_bytes = 0;
  uint64_t free_bytes = 0;
  bool is_enough() const { return free_bytes >= needed_bytes; }
};

// Makes a file or a directory durable.
using SyncPath = std::function<Result<>(const std::string& path)>;

struct RepairRequest {
  std::string from;
  std::string to;
  // Copies what the store does not know (snapshots) into a directory; called once, before the end. The repair syncs the
  // copies.
  std::function<Result<>(const std::string& directory, Findings& findings)> copy_more = {};
  uint64_t more_bytes = 0;  // that it needs
  ReadClocks read_clocks = store::read_clocks;
  SyncPath sync = sync_path;
};

enum class RepairOutcome {
  kRepaired,
  kWasRepaired,  // by an earlier run, which lost nothing
  kWasRepairedWithLoss,
  kWasRepairedByOlderProgram,  // which did not record whether something was lost
};

// At most so much is needed on the file system of `to`.
Result<RepairSpace> repair_space(const RepairRequest& request);
// What an earlier run made of the same source, if `to` is finished. kInvalid: it was made of another one, or the source
// has changed since.
Result<std::optional<RepairOutcome>> earlier_repair(const RepairRequest& request);
// The findings count what was salvaged as checked, and what was lost as damaged.
Result<RepairOutcome> repair_store(const RepairRequest& request, Findings& findings);

}  // namespace fathom::store
