#include "store/rocks/log_prewriter.h"

#include <filesystem>
#include <utility>

#include "store/wal/log_mark.h"

namespace fathom::store {

using rocksdb::IOStatus;

namespace {

// Of the free space, the fill takes a small part only.
constexpr uint64_t kFreeSpaces = 8;

uint64_t page_end(uint64_t offset) {
  return (offset + kLogPageBytes - 1) / kLogPageBytes * kLogPageBytes;
}

}  // namespace

LogPrewriter::LogPrewriter(rocksdb::FSWritableFile& file, rocksdb::FileSystem& disk, std::string path, uint64_t log)
    : file_(file), disk_(disk), path_(std::move(path)), log_(log) {}

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
  if (is_fill_due(end)) return fill(end);
  return fill_end() > 0 ? mark(end) : IOStatus::OK();
}

void LogPrewriter::stop() {
  std::lock_guard lock(mutex_);
  is_stopped_ = true;
}

IOStatus LogPrewriter::finish(uint64_t end) {
  std::lock_guard lock(mutex_);
  if (fill_end() == 0) return IOStatus::OK();
  return is_stopped_ ? restore_size() : remove(end);
}

void LogPrewriter::count(uint64_t end) {
  if (end == synced_end_) return;
  small_writes_ = end - synced_end_ <= kSmallWriteBytes ? small_writes_ + 1 : 0;
  synced_end_ = end;
}

// There is always room for the next small write.
bool LogPrewriter::is_fill_due(uint64_t end) const {
  if (fill_end() == 0) return small_writes_ > small_writes_needed_;
  return fill_end() - end < 2 * kSmallWriteBytes;
}

bool LogPrewriter::has_free_space(uint64_t bytes) const {
  uint64_t free = 0;
  const std::string directory = std::filesystem::path(path_).parent_path().string();
  const IOStatus status = disk_.GetFreeSpace(directory, rocksdb::IOOptions(), &free, nullptr);
  return status.ok() && free / kFreeSpaces >= bytes;
}

// The mark of the fill before stays in front of the new one, with an end that is lower.
IOStatus LogPrewriter::fill(uint64_t end) {
  const uint64_t begin = fill_end() > 0 ? fill_end() : end, new_end = page_end(begin + kLogFillBytes);
  if (!has_free_space(new_end - begin)) return fill_end() > 0 ? mark(end) : IOStatus::OK();
  const std::string bytes = std::string(new_end - begin - kLogMarkBytes, kLogFillByte) + log_mark(log_, end);
  const IOStatus written = file_.PositionedAppend(bytes, begin, rocksdb::IOOptions(), nullptr);
  fill_end_.store(new_end, std::memory_order_relaxed);
  return written.ok() ? written : remove(end);
}

IOStatus LogPrewriter::mark(uint64_t end) {
  return file_.PositionedAppend(log_mark(log_, end), fill_end() - kLogMarkBytes, rocksdb::IOOptions(), nullptr);
}

IOStatus LogPrewriter::remove(uint64_t end) {
  IOStatus status = file_.Truncate(end, rocksdb::IOOptions(), nullptr);
  if (!status.ok()) return status;
  fill_end_.store(0, std::memory_order_relaxed);
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
