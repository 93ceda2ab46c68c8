#include "store/rocks/log_prewriter.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

#include "store/rocks/log_space.h"
#include "store/wal/log_mark.h"

namespace fathom::store {

using rocksdb::IOStatus;

namespace {

uint64_t page_end(uint64_t offset) {
  return (offset + kLogPageBytes - 1) / kLogPageBytes * kLogPageBytes;
}

uint64_t random_salt() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

LogPrewriter::LogPrewriter(rocksdb::FSWritableFile& file, rocksdb::FileSystem& disk, std::string path, uint64_t log)
    : file_(file), disk_(disk), path_(std::move(path)), log_(log), salt_(random_salt()) {}

IOStatus LogPrewriter::before_append(uint64_t end, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (is_stopped_ || fill_end() == 0) return IOStatus::OK();
  const bool is_small = bytes <= kSmallWriteBytes;
  if (is_small && end + bytes + kLogMarkBytes <= fill_end()) return IOStatus::OK();
  if (!is_small) small_writes_needed_ = kSmallWritesAfterLarge;
  return remove(end);
}

IOStatus LogPrewriter::before_sync(uint64_t end) {
  std::lock_guard lock(mutex_);
  if (is_stopped_) return IOStatus::OK();
  count(end);
  IOStatus status = erase_old_mark(end);
  if (!status.ok()) return status;
  if (is_fill_due(end)) return fill(end);
  return fill_end() > 0 ? mark(end) : status;
}

void LogPrewriter::stop() {
  std::lock_guard lock(mutex_);
  is_stopped_ = true;
}

IOStatus LogPrewriter::finish(uint64_t end) {
  std::lock_guard lock(mutex_);
  if (fill_end() == 0) return IOStatus::OK();
  if (is_stopped_) return restore_size();
  IOStatus status = remove(end);
  // This restores the size, too.
  if (!status.ok()) mark(end).PermitUncheckedError();
  return status;
}

void LogPrewriter::count(uint64_t end) {
  if (end == synced_end_) return;
  small_writes_ = end - synced_end_ <= kSmallWriteBytes ? small_writes_ + 1 : 0;
  synced_end_ = end;
}

// Early enough for the next small write.
bool LogPrewriter::is_fill_due(uint64_t end) const {
  if (fill_end() == 0) return small_writes_ > small_writes_needed_;
  return fill_end() - end < 2 * kSmallWriteBytes;
}

// The mark of the fill before stays until the next sync: a power cut may take the new one back.
IOStatus LogPrewriter::fill(uint64_t end) {
  const uint64_t begin = fill_end() > 0 ? fill_end() : end, new_end = page_end(begin + kLogFillBytes);
  const std::string directory = std::filesystem::path(path_).parent_path().string();
  if (!has_room_to_allocate(disk_, directory, new_end - begin)) return fill_end() > 0 ? mark(end) : IOStatus::OK();
  const std::string bytes = std::string(new_end - begin - kLogMarkBytes, kLogFillByte) + mark_of(end);
  const IOStatus written = file_.PositionedAppend(bytes, begin, rocksdb::IOOptions(), nullptr);
  old_mark_end_ = fill_end_.exchange(new_end, std::memory_order_relaxed);
  return written.ok() ? written : remove(end);
}

IOStatus LogPrewriter::mark(uint64_t end) {
  return file_.PositionedAppend(mark_of(end), fill_end() - kLogMarkBytes, rocksdb::IOOptions(), nullptr);
}

// A record may have replaced a part of it. The rest would look like an interrupted record.
IOStatus LogPrewriter::erase_old_mark(uint64_t end) {
  const uint64_t old_end = std::exchange(old_mark_end_, 0);
  if (old_end <= end) return IOStatus::OK();
  const uint64_t begin = std::max(end, old_end - kLogMarkBytes);
  return file_.PositionedAppend(std::string(old_end - begin, kLogFillByte), begin, rocksdb::IOOptions(), nullptr);
}

std::string LogPrewriter::mark_of(uint64_t end) const {
  return LogMark{.log = log_, .salt = salt_, .records_end = end}.encoded();
}

IOStatus LogPrewriter::remove(uint64_t end) {
  IOStatus status = file_.Truncate(end, rocksdb::IOOptions(), nullptr);
  if (!status.ok()) return status;
  fill_end_.store(0, std::memory_order_relaxed);
  old_mark_end_ = 0;
  small_writes_ = 0;
  return status;
}

// RocksDB's file counts what is overwritten as growth, and would give the file that size when it is closed.
IOStatus LogPrewriter::restore_size() {
  uint64_t size = 0;
  const IOStatus status = disk_.GetFileSize(path_, rocksdb::IOOptions(), &size, nullptr);
  return status.ok() ? file_.Truncate(size, rocksdb::IOOptions(), nullptr) : status;
}

}  // namespace fathom::store
