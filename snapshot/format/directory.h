// SnapshotDirectory: snapshots, the images that they name, and answers that were worked out of them.
//
// Purpose: one layout wherever snapshots lie, on a person's machine or beside a server's data:
//   snapshots/ID.snapshot    images/SHA256    results/KEY    drafts/    pulled/ID
// The last are empty: of the snapshots that came from a server (cli/snapshot_share) and were not made here.
// Files appear whole (written beside, then renamed) and never change; images are private copies, so that nothing
// shrinks under a decoder that maps them. Thread safety: const functions from any thread, several processes may share
// one. Errors: kNotFound (names the cure), kInternal (the system's words).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "snapshot/format/snapshot_file.h"

namespace fathom::snapshot {

class SnapshotDirectory {
 public:
  // Makes what is missing of it, readable by its owner alone.
  static Result<SnapshotDirectory> open(const std::string& path);

  // A file to write a snapshot to; publish() gives it its name. open() removes drafts whose process has
  // ended, and, where that cannot be told, those of more than a day.
  Result<std::string> draft() const;  // a path of a fresh, empty file inside the directory
  Result<> publish(const std::string& draft, const SnapshotId& id) const;

  std::string snapshot_path(const SnapshotId& id) const;
  std::string image_path(const Sha256& content) const;
  bool has_image(const Sha256& content) const;
  // Copies a file, or bytes, under its content's name.
  struct StoredImage {
    Sha256 content;
    uint64_t bytes = 0;
  };
  Result<StoredImage> add_image_file(const std::string& path) const;
  Result<StoredImage> add_image_bytes(std::string_view bytes) const;

  Result<SnapshotFile> open_snapshot(const SnapshotId& id) const;
  // Newest first.
  Result<std::vector<SnapshotId>> list() const;
  // Came from a server.
  bool is_pulled(const SnapshotId& id) const;
  // Takes a snapshot away, with the answers to questions about it, and images that no other snapshot names. Images of
  // the last hour stay until the next time: somebody may be about to publish a snapshot that names them.
  Result<> remove(const SnapshotId& id) const;
  // A snapshot by its id or an unambiguous beginning of at least 4 characters; "last" is the newest that was
  // recorded or imported here, or, where none was, the newest.
  Result<SnapshotId> find(std::string_view text) const;

  // Keys hold the ids, in hex, of the snapshots that the answer is about: remove() goes by them.
  std::optional<std::string> result(const std::string& key) const;
  Result<> keep_result(const std::string& key, std::string_view answer) const;

 private:
  explicit SnapshotDirectory(std::string path) : path_(std::move(path)) {}
  Result<StoredImage> add_image(const Fd& from, const std::string& name) const;
  Result<> keep(const std::string& path, std::string_view bytes) const;
  std::string pulled_path(const SnapshotId& id) const;
  void forget_pulled(const SnapshotId& id) const;

  std::string path_;
};

}  // namespace fathom::snapshot
