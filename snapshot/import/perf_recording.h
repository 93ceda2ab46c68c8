// PerfRecording: what a perf.data says, read once: the description of a snapshot, and where its packets lie.
//
// Purpose: reading apart from looking for images and from writing, so that it can be tested (and fuzzed) alone. Packets
// are AUXTRACE records, or parts of samples (`perf record --aux-sample`); records may be compressed (`-z`), and lie in
// several files (`--threads`).
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

// The files of a recording.
struct PerfInput {
  std::string name;
  Fd data;                  // the perf.data
  std::vector<Fd> threads;  // what threads of perf wrote beside it, records without a header
  Fd spool;                 // empty, to read and write: for packets that lie compressed in the others

  static constexpr uint32_t kSpool = UINT32_MAX;
  // 0 is the perf.data, 1 and more are the threads' files.
  const Fd& file(uint32_t source) const {
    if (source == kSpool) return spool;
    return source == 0 ? data : threads.at(source - 1);
  }
};

// A loss: the file, or one of its directory, was cut short. Of records; parts of the header are counted apart.
inline constexpr const char* kBytesMissing = "bytes missing at the end of the perf.data";
inline constexpr const char* kThreadFilesMissing = "files of perf's threads that are missing";

// The data of one AUXTRACE record, or of one sample.
struct PacketChunk {
  size_t stream = 0;  // of the snapshot
  uint64_t offset = 0;
  uint32_t source = 0;  // of the input
  // A copy of an overwriting ring: such overlap, and their offsets do not tell how.
  bool is_copy = false;
  uint64_t file_offset = 0;
  uint64_t bytes = 0;
};

struct PerfRecording {
  Snapshot snapshot;                // images without content
  std::vector<PacketChunk> chunks;  // those of a stream in order
  KernelPlace kernel;
};

Result<PerfRecording> read_perf_data(const PerfInput& input);

}  // namespace fathom::snapshot::perf
