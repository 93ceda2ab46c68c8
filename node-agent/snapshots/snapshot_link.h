// SnapshotLink: how pieces of snapshots come to the collector; what SnapshotCourier needs of gRPC.
//
// Thread safety: calls on one thread, cancel() from any. Errors: whatever may pass is kRetry, or an error.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"
#include "snapshot/format/snapshot_file.h"

namespace fathom::agent {

struct ContentName {
  snapshot::SnapshotId snapshot;  // zero: it is an image
  Sha256 image;
};

struct PieceReply {
  enum class State : uint8_t { kDue, kStored, kRetry, kRefused };
  State state = State::kRetry;
  uint64_t next_offset = 0;
  uint64_t retry_after_nano = 0;  // 0: not said
  std::string message;
};

class SnapshotLink {
 public:
  virtual ~SnapshotLink() = default;
  // No bytes: what is due?
  virtual PieceReply put(const ContentName& name, uint64_t offset, uint64_t total_bytes, std::string_view bytes) = 0;
  virtual Result<std::vector<Sha256>> missing_images(std::span<const Sha256> images) = 0;
  // Calls end at once from now on, as to be tried again.
  virtual void cancel() = 0;
};

}  // namespace fathom::agent
