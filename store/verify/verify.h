// verify_store(): reads everything that a store keeps in a data directory and reports what is damaged.
//
// Purpose: read-only in the strict sense: nothing in the directory is created, changed or removed. A server cannot
// start on the directory meanwhile. Every block, index, list, record, log and capture is read and compared with the
// others. Of the backup of an upgrade, only the manifest is checked. What nothing else names can be deleted without a
// finding: logs, snapshots, images, the clock (docs/durability.md lists it). Thread safety: one thread per call.
// Memory: the rows in the logs (256 MiB at most by default), and about 150 MiB for caches, a segment's indexes and the
// lists of a partition, however many spans there are. Errors: only where nothing can be checked (kUnavailable: in use;
// kInvalid: not a data directory); damage is a finding.
#pragma once

#include <string>

#include "base/result.h"
#include "store/rocks/view.h"
#include "store/verify/findings.h"

namespace fathom::store {

class StoreSource;

Result<> verify_store(const std::string& path, Findings& findings);

// Reads the records of segments; those that do not decode go to the findings, if given.
std::vector<SegmentInfoPtr> read_segments(StoreSource& source, Findings* findings);

}  // namespace fathom::store
