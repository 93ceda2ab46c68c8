// The handles that a FaultFileSystem gives out. Appends to a new file follow one another as the descriptor's own offset
// moves: neither PositionedAppend, which may write anywhere, nor Truncate moves it, so appends may replace bytes.
// Writes to a file that was reopened go to its end. Thread safety: the file system's lock. Ownership: the file system
// must outlive them.
#pragma once

#include <memory>
#include <string>

#include "store/testing/fault_file_system.h"

namespace fathom::store {

class FaultFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultFile(std::unique_ptr<rocksdb::FSWritableFile> file, FaultFileSystem& fs, FaultFileSystem::OpenFile open)
      : FSWritableFileOwnerWrapper(std::move(file)), fs_(fs), open_(std::move(open)) {}

  using Options = rocksdb::IOOptions;
  using Debug = rocksdb::IODebugContext;
  using Verification = rocksdb::DataVerificationInfo;

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const Options& options, Debug* debug) override;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const Options& options, const Verification&,
                           Debug* debug) override {
    return Append(data, options, debug);
  }
  rocksdb::IOStatus PositionedAppend(const rocksdb::Slice& data, uint64_t offset, const Options& options,
                                     Debug* debug) override;
  rocksdb::IOStatus PositionedAppend(const rocksdb::Slice& data, uint64_t offset, const Options& options,
                                     const Verification&, Debug* debug) override {
    return PositionedAppend(data, offset, options, debug);
  }
  rocksdb::IOStatus Truncate(uint64_t size, const Options& options, Debug* debug) override;
  rocksdb::IOStatus Sync(const Options& options, Debug* debug) override;
  rocksdb::IOStatus Fsync(const Options& options, Debug* debug) override { return Sync(options, debug); }
  // Starts writing out without making anything durable.
  rocksdb::IOStatus RangeSync(uint64_t offset, uint64_t bytes, const Options&, Debug*) override;
  // Preallocated space holds no data, and on tmpfs it costs more than the writes.
  void PrepareWrite(size_t, size_t, const Options&, Debug*) override {}
  rocksdb::IOStatus Allocate(uint64_t, uint64_t, const Options&, Debug*) override { return rocksdb::IOStatus::OK(); }

 private:
  // All with the lock.
  uint64_t place(uint64_t offset) const;  // where the disk writes what is meant for the offset
  size_t lacking_space(uint64_t offset, size_t bytes);
  rocksdb::IOStatus read_before(uint64_t offset, size_t bytes, std::string& before) const;
  template <typename Write>
  rocksdb::IOStatus write(const rocksdb::Slice& data, uint64_t offset, const Write& to_disk);
  void note_failed_sync();

  FaultFileSystem& fs_;
  FaultFileSystem::OpenFile open_;
  uint64_t append_offset_ = 0;
};

class FaultReadFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultReadFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file, const FaultFileSystem& fs, uint64_t inode)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), fs_(fs), inode_(inode) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t bytes, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                         char* scratch, rocksdb::IODebugContext* debug) const override;
  rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;

 private:
  const FaultFileSystem& fs_;
  const uint64_t inode_;
};

class FaultDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  FaultDirectory(std::unique_ptr<rocksdb::FSDirectory> directory, FaultFileSystem& fs, std::string path)
      : FSDirectoryWrapper(std::move(directory)), fs_(fs), path_(std::move(path)) {}

  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus FsyncWithDirOptions(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug,
                                        const rocksdb::DirFsyncOptions&) override {
    return Fsync(options, debug);
  }

 private:
  FaultFileSystem& fs_;
  std::string path_;
};

}  // namespace fathom::store
