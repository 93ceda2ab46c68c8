// Draft: a snapshot while it is written, which leaves nothing behind when it comes to nothing.
//
// Thread safety: none. Ownership: removes its file unless publish() succeeded.
#pragma once

#include <optional>
#include <string>

#include "snapshot/format/byte_progress.h"
#include "snapshot/format/directory.h"

namespace fathom::snapshot {

class Draft {
 public:
  static Result<Draft> begin(const SnapshotDirectory& directory);
  Draft(Draft&& other) noexcept;
  Draft& operator=(Draft&&) = delete;
  ~Draft();

  SnapshotWriter& writer() { return *writer_; }
  Result<SnapshotId> publish(Snapshot snapshot);

 private:
  Draft(const SnapshotDirectory& directory, std::string path, SnapshotWriter writer)
      : directory_(directory), path_(std::move(path)), writer_(std::move(writer)) {}
  const SnapshotDirectory& directory_;
  std::string path_;
  std::optional<SnapshotWriter> writer_;
};

// What has been copied of all that is to be.
class CopyMeter {
 public:
  CopyMeter(const ByteProgress& progress, uint64_t all_bytes) : progress_(progress), all_bytes_(all_bytes) {}
  void add(uint64_t bytes) {
    done_bytes_ += bytes;
    if (progress_) progress_(done_bytes_, all_bytes_);
  }

 private:
  const ByteProgress& progress_;
  const uint64_t all_bytes_;
  uint64_t done_bytes_ = 0;
};

// Copies [from, from + bytes) of `file` to `stream` of the snapshot, as what begins at `offset` of the recording.
Result<> copy_packets(const Fd& file, uint64_t from, uint64_t bytes, size_t stream, uint64_t offset,
                      SnapshotWriter& writer, CopyMeter& meter);

}  // namespace fathom::snapshot
