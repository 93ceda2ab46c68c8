// What a person should know of an import: images that are missing, packets that are none, times that will not be known.
//
// Thread safety: any. Errors: those of opening the snapshot.
#pragma once

#include "apps/worker/work.h"
#include "snapshot/format/directory.h"

namespace fathom {

Result<> remark_on_import(const snapshot::SnapshotDirectory& directory, const snapshot::SnapshotId& id,
                          const WorkerStreams& streams);

}  // namespace fathom
