// PacketStream: the packets of one stream as stretches without a hole; and where to cut them for decoding.
//
// Purpose: pieces of a recording lie anywhere in a snapshot's file, and synchronisation points lie anywhere in them.
// Thread safety: const functions from any thread. Ownership: refers to the file, which outlives it. Memory: reads
// small windows, whatever the stream's length. Errors: the file's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "snapshot/format/snapshot_file.h"

namespace fathom::snapshot {

class PacketStream {
 public:
  PacketStream(const SnapshotFile& file, size_t stream);

  // Stretches in which no packet is missing. Offsets count from the beginning of a stretch.
  size_t stretches() const { return stretches_.size(); }
  uint64_t bytes(size_t stretch) const { return stretches_[stretch].bytes; }
  Result<> read(size_t stretch, uint64_t offset, std::span<uint8_t> bytes) const;

 private:
  struct Placed {
    uint64_t offset = 0;
    uint64_t file_offset = 0;
    uint64_t bytes = 0;
  };
  struct Stretch {
    std::vector<Placed> pieces;
    uint64_t bytes = 0;
  };

  const SnapshotFile& file_;
  std::vector<Stretch> stretches_;
};

// A share of the work: it begins with a PSB and ends before another one where a segment ends (part_decoder.h), or at
// the end of its stretch.
struct StreamPart {
  size_t stream = 0;
  size_t stretch = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t stretch_bytes = 0;
  bool first = false;  // of its stream
  bool last = false;
  bool behind_loss = false;       // the first one behind a hole
  uint64_t skipped = 0;           // bytes of the stretch before its first PSB
  uint64_t first_tsc = 0;         // of its PSB+, never less than that of a part before; 0: not known
  uint64_t end_tsc = UINT64_MAX;  // no later than the next part
};

// What is behind this of a part is left out, as a gap: a part must fit into memory. Only a segment of that size,
// without any PSB, makes such a part.
inline constexpr uint64_t kMostPartBytes = 64u << 20;

// Cuts a stream into parts of at least `part_bytes`. A stretch without any PSB is a part without bytes.
Result<std::vector<StreamPart>> cut_stream(const PacketStream& packets, size_t stream, uint64_t part_bytes);

}  // namespace fathom::snapshot
