// SnapshotSpool: a node's snapshots and their images on its disk, until the collector has them.
//
// Purpose: a SnapshotDirectory with a limit. Beyond it images go that no waiting snapshot names (they are kept only so
// that they need not be copied again), then the oldest snapshots, each a counted loss. What a former agent left is sent
// like all others. Thread safety: all of it; trim() not while a snapshot is being written, which may name images that
// nobody names yet. Ownership: of the directory, nobody else's. Errors: open() says what is wrong; a snapshot that
// cannot be read is removed, counted as damaged.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/settable.h"
#include "snapshot/format/directory.h"

namespace fathom::agent {

class SnapshotSpool {
 public:
  static Result<std::unique_ptr<SnapshotSpool>> open(const std::string& path, uint64_t limit_bytes);
  static bool has_any(const std::string& path);  // of an agent before this one

  const snapshot::SnapshotDirectory& directory() const { return directory_; }
  std::vector<snapshot::SnapshotId> waiting() const;  // the oldest first
  void trim();
  // What is beyond it goes when trim() is called next.
  void set_limit(uint64_t bytes) { limit_bytes_ = bytes; }
  // The collector has it.
  void sent(const snapshot::SnapshotId& id);
  // Nobody ever will; `reason` as fathom_agent_lost_snapshots_total has it.
  void drop(const snapshot::SnapshotId& id, std::string_view reason);

 private:
  struct File {
    std::string path;
    uint64_t bytes = 0;
    int64_t written_nano = 0;
  };
  SnapshotSpool(std::string path, uint64_t limit_bytes, snapshot::SnapshotDirectory directory)
      : path_(std::move(path)), limit_bytes_(limit_bytes), directory_(std::move(directory)) {}

  std::vector<File> files(const char* folder) const;  // the oldest first
  uint64_t bytes() const;
  void remove_images(uint64_t& bytes);
  void remove(const snapshot::SnapshotId& id);
  void show(uint64_t bytes) const;

  const std::string path_;
  Settable<uint64_t> limit_bytes_;
  const snapshot::SnapshotDirectory directory_;
  std::mutex mutex_;  // of removals
};

}  // namespace fathom::agent
