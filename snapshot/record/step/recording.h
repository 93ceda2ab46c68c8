// Recording: a snapshot while it is being made: packets to its file, all else kept until the end.
//
// Purpose: the one owner of the Snapshot that several threads and processes add to. Images are opened when they are
// seen and copied at the end, because the program waits meanwhile. Thread safety: none; one owner. Ownership: the
// draft is removed unless finish() publishes it. Errors: what goes wrong while packets are written is kept, and
// finish() says it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/snapshot_file.h"
#include "snapshot/record/step/proc_maps.h"
#include "snapshot/record/step/tsc_clock.h"

namespace fathom::snapshot::step {

class Recording {
 public:
  // `private_images`: copies files too that not everybody may read, by their mode.
  static Result<std::unique_ptr<Recording>> begin(const SnapshotDirectory& directory, bool private_images = true);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();

  size_t add_stream(int32_t pid, int32_t tid);
  void packets(size_t stream, std::span<const uint8_t> bytes);
  void add(Sideband row) { snapshot_.sideband.push_back(std::move(row)); }
  void lose(const std::string& name, uint64_t count);

  // The file that a process shows there; nothing when it cannot be opened.
  struct OpenImage {
    uint32_t image;
    int file;
  };
  std::optional<OpenImage> image_of(pid_t pid, const MappedFile& map);
  uint32_t add_flat_image(const std::string& name, std::string bytes);

  Snapshot& snapshot() { return snapshot_; }
  uint64_t packet_bytes() const;
  uint8_t ratio() const { return clock_.ratio(); }
  double ticks_per_nano() const { return clock_.ticks_per_nano(); }
  // Copies the images, completes the file, and gives it its name.
  Result<SnapshotId> finish();

 private:
  Recording(const SnapshotDirectory& directory, std::string draft, SnapshotWriter writer, bool private_images)
      : directory_(directory), draft_(std::move(draft)), writer_(std::move(writer)), private_images_(private_images) {}
  Result<> store_images();

  SnapshotDirectory directory_;
  std::string draft_;
  SnapshotWriter writer_;
  bool private_images_;
  TscClock clock_;
  Snapshot snapshot_;
  std::vector<uint64_t> stream_bytes_;
  using FileKey = std::tuple<uint64_t, uint64_t, int64_t, int64_t>;  // device, inode, size, time of change
  std::map<FileKey, uint32_t> images_of_files_;
  struct Content {  // of an image: one of the two
    Fd file;
    std::string bytes;
  };
  std::vector<Content> contents_;  // as snapshot_.images
  std::optional<Error> fault_;
};

}  // namespace fathom::snapshot::step
