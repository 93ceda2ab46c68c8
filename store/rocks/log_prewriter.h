// LogPrewriter: fills one of RocksDB's logs ahead of its records while they are small.
//
// Purpose: a small record then overwrites bytes that the file already has. The size of the file does not change, and
// fdatasync does not wait for the journal of the file system. A mark at the end of the fill (store/wal/log_mark.h)
// says where the records end; it is written before each sync, so that the sync makes both durable. The first fill
// follows kSmallWritesBefore small syncs. A record that is not small removes the fill, and it takes
// kSmallWritesAfterLarge small syncs until the next one. finish() removes it, too. Bytes are filled one sync before a
// record can take their place, so that a power cut cannot leave a hole in front of a record.
// Cost: a write of 40 bytes for each sync, and one of kLogFillBytes for as many bytes of records.
// Thread safety: all of it, if nothing is appended between before_append() and its append, or during before_sync().
// RocksDB appends to a log and syncs it on one thread (docs/rocksdb.md).
// Ownership: `file` and `disk` outlive it.
// Errors: of the disk. A disk that is nearly full, or cannot take the fill, costs only the fill.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include <rocksdb/file_system.h>

namespace fathom::store {

class LogPrewriter {
 public:
  // Larger groups of batches mean many exporters, who share a sync. The fill would double what the disk writes.
  static constexpr uint64_t kSmallWriteBytes = 64 << 10;
  static constexpr int kSmallWritesBefore = 2;
  static constexpr int kSmallWritesAfterLarge = 32;

  // `path`: of `file`; `log`: its number.
  LogPrewriter(rocksdb::FSWritableFile& file, rocksdb::FileSystem& disk, std::string path, uint64_t log);

  // Call it before `bytes` are appended. `end`: of what was appended before.
  rocksdb::IOStatus before_append(uint64_t end, uint64_t bytes);
  // Call it before each sync. `end`: of the records that the sync makes durable.
  rocksdb::IOStatus before_sync(uint64_t end);
  // An append failed, so nobody knows where the next one goes; or nothing is to be filled. A fill stays as it is.
  void stop();
  // Call it before the file is closed.
  rocksdb::IOStatus finish(uint64_t end);
  // The end of the fill; 0: there is none.
  uint64_t fill_end() const { return fill_end_.load(std::memory_order_relaxed); }

 private:
  void count(uint64_t end);
  bool is_fill_due(uint64_t end) const;
  rocksdb::IOStatus fill(uint64_t end);
  rocksdb::IOStatus mark(uint64_t end);
  rocksdb::IOStatus erase_old_mark(uint64_t end);
  std::string mark_of(uint64_t end) const;
  rocksdb::IOStatus remove(uint64_t end);
  rocksdb::IOStatus restore_size();

  rocksdb::FSWritableFile& file_;
  rocksdb::FileSystem& disk_;
  const std::string path_;
  const uint64_t log_;
  const uint64_t salt_;
  std::mutex mutex_;
  std::atomic<uint64_t> fill_end_{0};
  uint64_t old_mark_end_ = 0;  // of the fill before; 0: it is erased
  uint64_t synced_end_ = 0;
  int small_writes_ = 0;  // syncs in a row
  int small_writes_needed_ = kSmallWritesBefore;
  bool is_stopped_ = false;
};

}  // namespace fathom::store
