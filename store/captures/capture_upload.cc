#include "store/captures/capture_upload.h"

#include "base/time.h"
#include "store/captures/capture_counters.h"

namespace fathom::store {

namespace {

AppendResult answer_of(const Error& error) {
  AppendOutcome outcome = error.code == ErrorCode::kUnavailable ? AppendOutcome::kRetryable : AppendOutcome::kRejected;
  return {outcome, error.message, false};
}

Error error_of(const AppendResult& answer) {
  bool again = answer.outcome == AppendOutcome::kRetryable;
  if (answer.outcome == AppendOutcome::kDurable) return invalid("the capture is finished");
  return again ? unavailable(answer.message) : exhausted(answer.message);
}

}  // namespace

CaptureUpload::CaptureUpload(CaptureKeeper& keeper, const CaptureInfo& announced, std::unique_ptr<BlobWriter> content)
    : keeper_(keeper),
      info_(announced),
      stored_already_(content == nullptr),
      content_(std::move(content)),
      used_nano_(now_monotonic_nano()) {}

uint64_t CaptureUpload::size_bytes() const {
  std::lock_guard lock(mutex_);
  return size_bytes_;
}

Result<> CaptureUpload::append(uint64_t offset, std::string_view bytes) {
  std::lock_guard lock(mutex_);
  if (answer_) return error_of(*answer_);
  if (offset != size_bytes_) {
    return invalid("a piece of a capture begins at " + std::to_string(offset) + ", not at " +
                   std::to_string(size_bytes_));
  }
  Result<> taken = content_ ? take(offset, bytes) : Result<>();
  used_nano_ = now_monotonic_nano();
  if (!taken) return fail(taken.error());
  size_bytes_ += bytes.size();
  return {};
}

Result<> CaptureUpload::take(uint64_t offset, std::string_view bytes) {
  uint64_t most = info_.size_bytes != 0 ? info_.size_bytes : keeper_.most_bytes();
  if (bytes.size() > most - offset) {
    rejected_captures(info_.size_bytes != 0 ? "not_as_announced" : "too_large").add();
    return exhausted("a capture is larger than the " + std::to_string(most) + " bytes that it may have");
  }
  if (Result<> room = keeper_.room_for(bytes.size()); !room) return room;
  Result<> written = content_->append(bytes);
  if (!written) refused_captures("write_failed").add();
  return written;
}

Result<> CaptureUpload::fail(Error error) {
  end(answer_of(error));
  return error;
}

AppendResult CaptureUpload::finish() {
  std::lock_guard lock(mutex_);
  if (!answer_) end(complete());
  return *answer_;
}

AppendResult CaptureUpload::complete() {
  if (stored_already_) return keeper_.keep_known(info_);
  uint64_t began_nano = now_monotonic_nano();
  Result<Sha256> hash = content_->close(keeper_.syncs());
  if (!hash) {
    refused_captures("write_failed").add();
    return answer_of(hash.error());
  }
  bool as_announced =
      (info_.sha256.is_zero() || info_.sha256 == *hash) && (info_.size_bytes == 0 || info_.size_bytes == size_bytes_);
  if (!as_announced) {
    rejected_captures("not_as_announced").add();
    return {AppendOutcome::kRejected, "the content of a capture has not the size and hash that were announced", false};
  }
  info_.sha256 = *hash;
  info_.size_bytes = size_bytes_;
  AppendResult kept = keeper_.keep(info_, *content_);
  if (kept.outcome == AppendOutcome::kDurable) {
    capture_finish_durations().observe(static_cast<double>(now_monotonic_nano() - began_nano) / kNanosPerSecond);
  }
  return kept;
}

void CaptureUpload::end(AppendResult answer) {
  answer_ = std::move(answer);
  content_.reset();
}

void CaptureUpload::abandon() {
  std::lock_guard lock(mutex_);
  if (answer_) return;
  if (!stored_already_) abandoned_captures("unfinished").add();
  end({AppendOutcome::kRetryable, "the upload was abandoned", false});
}

bool CaptureUpload::end_if_idle(uint64_t idle_nano) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  if (answer_) return true;
  if (now_monotonic_nano() - used_nano_ < idle_nano) return false;
  if (!stored_already_) abandoned_captures("idle").add();
  end({AppendOutcome::kRetryable, "the upload of a capture was idle for too long; send it again", false});
  return true;
}

void CaptureUpload::close() {
  std::lock_guard lock(mutex_);
  if (!answer_) end({AppendOutcome::kRetryable, "the store is closing", false});
}

bool CaptureUpload::is_over() const {
  std::unique_lock lock(mutex_, std::try_to_lock);
  return lock.owns_lock() && answer_.has_value();
}

}  // namespace fathom::store
