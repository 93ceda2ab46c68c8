#include "store/testing/fault_file.h"

namespace fathom::store {

using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

IOStatus no_space() {
  IOStatus status = IOStatus::NoSpace("the test's disk is full");
  status.SetRetryable(true);
  return status;
}

}  // namespace

IOStatus FaultFile::Append(const Slice& data, const Options& options, Debug* debug) {
  std::lock_guard lock(fs_.mutex_);
  IOStatus status = fs_.refusal(open_);
  if (!status.ok()) return status;
  Slice fits(data.data(), fs_.take_space(data.size()));
  std::string copy;
  status = target()->Append(fs_.damaged(fits, copy), options, debug);
  if (!status.ok()) return status;
  open_.durability->append(open_.durability->written + fits.size());
  return fits.size() < data.size() ? no_space() : status;
}

// Direct writes are whole pages: they fit or they do not.
IOStatus FaultFile::PositionedAppend(const Slice& data, uint64_t offset, const Options& options, Debug* debug) {
  std::lock_guard lock(fs_.mutex_);
  IOStatus status = fs_.refusal(open_);
  if (!status.ok()) return status;
  if (fs_.take_space(data.size()) < data.size()) return no_space();
  status = target()->PositionedAppend(data, offset, options, debug);
  if (status.ok()) open_.durability->append(offset + data.size());
  return status;
}

IOStatus FaultFile::Truncate(uint64_t size, const Options& options, Debug* debug) {
  std::lock_guard lock(fs_.mutex_);
  IOStatus status = fs_.refusal(open_);
  if (status.ok()) status = target()->Truncate(size, options, debug);
  if (status.ok()) open_.durability->truncate(size);
  return status;
}

IOStatus FaultFile::Sync(const Options&, Debug*) {
  std::lock_guard lock(fs_.mutex_);
  IOStatus status = fs_.refusal(open_);
  if (status.ok()) status = fs_.sync_refusal();
  if (!status.ok()) {
    note_failed_sync();
    return status;
  }
  open_.durability->sync();
  fs_.file_syncs_.fetch_add(1);
  return status;
}

IOStatus FaultFile::RangeSync(uint64_t offset, uint64_t bytes, const Options&, Debug*) {
  std::lock_guard lock(fs_.mutex_);
  fs_.last_range_ = {offset, bytes};
  if (!fs_.fail_range_syncs_) return IOStatus::OK();
  note_failed_sync();
  return IOStatus::IOError("the test's disk fails to write out");
}

// A process that ended before the sync leaves pages that a later sync still writes.
void FaultFile::note_failed_sync() {
  if (fs_.powered_ && open_.power_cycle == fs_.power_cycle_) open_.durability->sync_failed = true;
}

IOStatus FaultReadFile::Read(uint64_t offset, size_t bytes, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                             char* scratch, rocksdb::IODebugContext* debug) const {
  IOStatus status = fs_.read_refusal(inode_, offset, bytes);
  return status.ok() ? FSRandomAccessFileOwnerWrapper::Read(offset, bytes, options, result, scratch, debug) : status;
}

IOStatus FaultReadFile::MultiRead(rocksdb::FSReadRequest* requests, size_t count, const rocksdb::IOOptions& options,
                                  rocksdb::IODebugContext* debug) {
  IOStatus status;
  for (size_t i = 0; i < count && status.ok(); ++i) {
    status = fs_.read_refusal(inode_, requests[i].offset, requests[i].len);
  }
  return status.ok() ? FSRandomAccessFileOwnerWrapper::MultiRead(requests, count, options, debug) : status;
}

IOStatus FaultDirectory::Fsync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) {
  std::lock_guard lock(fs_.mutex_);
  IOStatus status = fs_.refusal();
  if (status.ok()) status = fs_.sync_refusal();
  if (!status.ok()) return status;
  fs_.changes_.sync_directory(path_);
  fs_.directory_syncs_.fetch_add(1);
  return status;
}

}  // namespace fathom::store
