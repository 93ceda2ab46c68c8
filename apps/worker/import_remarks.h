// What a person should know of an import: images that are missing, packets that are none, times that will not be known.
//
// Thread safety: any. Errors: those of opening the snapshot, or the file.
#pragma once

#include <string>

#include "apps/worker/work.h"
#include "snapshot/format/directory.h"

namespace fathom {

// kInvalid: the file has packets of nothing that could be decoded. What is no file at all is no fault here.
Result<> check_raw_stream(const std::string& path);
// The same of a perf.data that was imported as `id`; `path` is for the message.
Result<> check_perf_packets(const snapshot::SnapshotDirectory& directory, const snapshot::SnapshotId& id,
                            const std::string& path);
// Of what `options` imported.
Result<> remark_on_import(const snapshot::SnapshotDirectory& directory, const snapshot::SnapshotId& id,
                          const WorkerOptions& options, const WorkerStreams& streams);

}  // namespace fathom
