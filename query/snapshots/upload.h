// Upload: one content on its way: a draft, and the hash of what it has so far. Internal to Uploads.
//
// Thread safety: `mutex` guards everything but what is atomic or constant. Ownership: owns its draft, which goes with
// it unless it was published. Errors: kUnavailable with the system's words.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/sha256.h"
#include "query/snapshots/uploads.h"

namespace fathom::query {

class Uploads::Upload {
 public:
  // `all_bytes` counts the bytes of all drafts.
  static Result<std::shared_ptr<Upload>> begin(const snapshot::SnapshotDirectory& directory,
                                               std::atomic<uint64_t>& all_bytes, uint64_t now);
  Upload(std::string draft, Fd file, std::atomic<uint64_t>& all_bytes, uint64_t now)
      : draft_(std::move(draft)), file_(std::move(file)), all_bytes_(all_bytes), used_nano(now) {}
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  Result<> append(std::string_view bytes);
  // Of all that came; and all that came is durable.
  Result<Sha256> finish();
  const std::string& draft() const { return draft_; }
  uint64_t size() const { return size_; }

  std::mutex mutex;
  bool over = false;

 private:
  const std::string draft_;
  Fd file_;
  Sha256Hasher hasher_;
  std::atomic<uint64_t> size_{0};
  std::atomic<uint64_t>& all_bytes_;

 public:
  std::atomic<uint64_t> used_nano;  // monotonic
};

}  // namespace fathom::query
