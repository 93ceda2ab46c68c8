// SampleSnapshots: a SnapshotStore in a directory of its own, snapshots as bytes to upload, and a worker by hand.
//
// Thread safety: the store's; `worker` is set before anybody asks. Ownership: owns store and directory.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/temp_directory.h"
#include "query/snapshots/snapshot_store.h"

namespace fathom::query::testing {

struct MadeSnapshot {
  SnapshotId id;
  std::string bytes;  // the file
};

// Writes it as a recorder would, with `packets` in its first stream.
MadeSnapshot made_snapshot(snapshot::Snapshot snapshot, const std::string& packets = "packets");
// Number n, taken n seconds after the first of all; its image is image_of(n).
snapshot::Snapshot numbered_snapshot(uint64_t n);
std::string image_of(uint64_t n);

class SampleSnapshots {
 public:
  explicit SampleSnapshots(SnapshotOptions options = {});

  SnapshotStore& store() { return *store_; }
  const std::string& path() const { return path_; }
  // Ends the store and opens another one on the same directory.
  void restart();
  // What the data directory's owner does every second.
  void observe_clock() { clock_->observe(); }
  void end() { store_.reset(); }

  // All of it, in pieces of so many bytes; the last reply, or the first error.
  Result<UploadReply> upload(const ContentName& name, const std::string& bytes, size_t piece_bytes = 1 << 20);
  Result<UploadReply> upload(const MadeSnapshot& made) { return upload({false, made.id.hex()}, made.bytes); }
  Result<UploadReply> upload_image(const std::string& bytes) { return upload({true, sha256(bytes).hex()}, bytes); }
  bool has_file(const std::string& name) const;

  // All clocks of the host. `step_nano` is the wall clock's error.
  std::atomic<uint64_t> now_unix_nano{1'795'221'000'000'000'000};
  std::atomic<int64_t> step_nano{0};
  RunWorker worker;
  LookInto view;

 private:
  TempDirectory directory_;
  const std::string path_;
  SnapshotOptions options_;
  std::shared_ptr<store::AgeClock> clock_;
  std::unique_ptr<SnapshotStore> store_;
};

}  // namespace fathom::query::testing
