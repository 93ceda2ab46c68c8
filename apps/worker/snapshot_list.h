// The list of snapshots, newest first, as a table or JSON.
//
// Thread safety: pure but for reading. Errors: those of the directory; a snapshot that cannot be read is a row that
// says so.
#pragma once

#include "apps/worker/work.h"
#include "snapshot/format/directory.h"

namespace fathom {

Result<> list_snapshots(const snapshot::SnapshotDirectory& directory, const WorkerOptions& options,
                        const WorkerStreams& streams);
// Of a directory that is not there.
Result<> list_nothing(const WorkerOptions& options, const WorkerStreams& streams);

}  // namespace fathom
