// PerfRecording: what a perf.data says, read once: the description of a snapshot, and where its packets lie.
//
// Purpose: reading apart from looking for images and from writing, so that it can be tested (and fuzzed) alone.
// Thread safety: plain values. Errors: those of PerfFile; kUnsupported names what kind of recording it is instead;
// kInvalid when it holds no Intel PT; kExhausted when there is more than a snapshot keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "snapshot/format/snapshot.h"
#include "snapshot/import/perf_sideband.h"

namespace fathom::snapshot::perf {

// The data of one AUXTRACE record.
struct PacketChunk {
  size_t stream = 0;  // of the snapshot
  uint64_t offset = 0;
  uint64_t file_offset = 0;
  uint64_t bytes = 0;
};

struct PerfRecording {
  Snapshot snapshot;                // images without content
  std::vector<PacketChunk> chunks;  // in the order of the file
  // The recording took copies of an overwriting ring: chunks overlap, and their offsets do not tell how.
  bool ring_copies = false;
  KernelPlace kernel;
};

Result<PerfRecording> read_perf_data(const Fd& file, const std::string& name);

}  // namespace fathom::snapshot::perf
