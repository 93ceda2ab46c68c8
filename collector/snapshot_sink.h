// SnapshotSink: where agents' snapshots and images go. Who keeps them is another part, which apps/ binds.
//
// Purpose: the collector moves pieces, and knows nothing of what they are. Thread safety: of the implementation, all of
// it; its calls wait for the disk. Ownership: must outlive the collector. Errors of take(): kUnavailable may pass;
// everything else is for good.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/sha256.h"

namespace fathom::collector {

struct SnapshotPiece {
  Id<16> snapshot;  // zero: it is of an image
  Sha256 image;
  uint64_t offset = 0;
  uint64_t total_bytes = 0;
  std::string_view content;  // none: what is due?
};

struct SnapshotPieceTaken {
  uint64_t next_offset = 0;
  bool stored = false;  // all of it
};

class SnapshotSink {
 public:
  virtual ~SnapshotSink() = default;
  virtual Result<SnapshotPieceTaken> take(const SnapshotPiece& piece) = 0;
  virtual std::vector<Sha256> missing_images(std::span<const Sha256> images) = 0;
};

}  // namespace fathom::collector
