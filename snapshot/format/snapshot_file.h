// A snapshot's file: packets first, as they come, then what is known of them.
//
// Purpose: a recorder can write gigabytes without holding them; a reader opens at once and reads packets by window.
// The id of a snapshot is the beginning of the SHA-256 of its bytes, so the same content has the same id everywhere.
// docs/formats/snapshot.md has the bytes. Thread safety: the writer none; SnapshotFile's const functions from any
// thread. Errors: kCorrupt (names what is wrong), kUnsupported (a version that we do not know), kInternal (the system's
// words). Every byte that is read is treated as hostile.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/sha256.h"
#include "snapshot/format/layout.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

using SnapshotId = Id<16>;

class SnapshotWriter {
 public:
  // Writes to `file` from its current place, which is the beginning of an empty file.
  static Result<SnapshotWriter> begin(Fd file);

  // Appends packets of a stream; consecutive ones of the same stream are one piece while `offset` goes on.
  // `stream` is the place in Snapshot::streams that finish() will be given.
  Result<> packets(size_t stream, uint64_t offset, std::span<const uint8_t> bytes);

  // Completes and syncs the file. The pieces of `snapshot.streams` are filled in here.
  Result<SnapshotId> finish(Snapshot snapshot);

 private:
  struct Placed {
    size_t stream;
    Stream::Piece piece;
  };
  explicit SnapshotWriter(Fd file) : file_(std::move(file)) {}
  Result<> append(std::string_view bytes);

  Fd file_;
  uint64_t at_ = 0;
  Sha256Hasher hasher_;
  std::vector<Placed> placed_;
};

class SnapshotFile {
 public:
  static Result<SnapshotFile> open(const std::string& path);
  // A description becomes some ten times as large in memory, so who takes files from strangers lowers its limit
  // (kExhausted beyond it).
  static Result<SnapshotFile> open(Fd file, uint64_t most_metadata_bytes = kMostMetadataBytes);

  const Snapshot& snapshot() const { return snapshot_; }
  // Reads bytes of the file at `file_offset` (inside a piece); all of them, or an error.
  Result<> read(uint64_t file_offset, std::span<uint8_t> bytes) const;

 private:
  Fd file_;
  Snapshot snapshot_;
};

// The metadata alone, for the file and for tests.
std::string encode_metadata(const Snapshot& snapshot);
// `packet_bytes_end`: pieces must lie before it.
Result<Snapshot> decode_metadata(std::string_view bytes, uint64_t packet_bytes_end);

}  // namespace fathom::snapshot
