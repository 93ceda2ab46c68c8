// CaptureUpload: one capture on its way into the store.
//
// Purpose: what a CaptureWriter does. It has an answer once it is over: finished, refused, idle for too long, or
// because the store closes; nothing happens afterwards. Thread safety: all of it, by one mutex; while that is held for
// a disk's sake the upload is not idle. Ownership: the keeper must outlive what is not over.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "store/captures/capture_keeper.h"

namespace fathom::store {

class CaptureUpload {
 public:
  // `content` is null if the content is stored already, even under another header.
  CaptureUpload(CaptureKeeper& keeper, const CaptureInfo& announced, std::unique_ptr<BlobWriter> content);

  bool is_stored_already() const { return stored_already_; }
  uint64_t size_bytes() const;
  Result<> append(uint64_t offset, std::string_view bytes);
  AppendResult finish();

  // The one who began it is gone.
  void abandon();
  // Ends it when nothing came for that long; false while it goes on.
  bool end_if_idle(uint64_t idle_nano);
  void close();
  bool is_over() const;

 private:
  Result<> take(uint64_t offset, std::string_view bytes);
  Result<> fail(Error error);
  AppendResult complete();
  void end(AppendResult answer);

  CaptureKeeper& keeper_;
  CaptureInfo info_;
  const bool stored_already_;
  mutable std::mutex mutex_;
  std::unique_ptr<BlobWriter> content_;
  uint64_t size_bytes_ = 0;
  uint64_t used_nano_;  // monotonic: when it was called last
  std::optional<AppendResult> answer_;
};

}  // namespace fathom::store
