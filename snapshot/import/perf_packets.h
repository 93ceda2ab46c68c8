// copy_chunks: the packets of a perf.data into a snapshot, each byte of a recording once.
//
// Purpose: perf pads each AUXTRACE to eight bytes, and in snapshot mode each is a copy of a whole ring, most of which
// the one before it may have held, too; samples hold copies of a ring's end. What a chunk repeats is left out; a chunk
// that goes on where the one before it ended is one piece with it, and any other begins a new one. Thread safety: none.
// Memory: a window, whatever the sizes. Errors: those of reading and writing. Source of the idea: perf's own overlap
// detection, by synchronisation points.
#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "snapshot/format/byte_progress.h"
#include "snapshot/format/snapshot_file.h"
#include "snapshot/import/perf_recording.h"

namespace fathom::snapshot::perf {

// Takes padding off `recording.chunks` on the way.
Result<> copy_chunks(const PerfInput& input, PerfRecording& recording, SnapshotWriter& writer,
                     const ByteProgress& progress = {});

// How many bytes at the beginning of `later` are those at the end of `earlier`; 0 where that cannot be told.
Result<uint64_t> repeated_bytes(const PerfInput& input, const PacketChunk& earlier, const PacketChunk& later);

}  // namespace fathom::snapshot::perf
