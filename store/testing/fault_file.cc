#include "store/testing/fault_file.h"

#include <algorithm>

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
  const uint64_t offset = place(append_offset_);
  Slice fits(data.data(), data.size() - lacking_space(offset, data.size()));
  status = write(fits, offset, [&](const Slice& bytes) { return target()->Append(bytes, options, debug); });
  if (!status.ok()) return status;
  append_offset_ = offset + fits.size();
  return fits.size() < data.size() ? no_space() : status;
}

// Direct writes are whole pages: they fit or they do not.
IOStatus FaultFile::PositionedAppend(const Slice& data, uint64_t offset, const Options& options, Debug* debug) {
  std::lock_guard lock(fs_.mutex_);
  IOStatus status = fs_.refusal(open_);
  if (!status.ok()) return status;
  if (lacking_space(place(offset), data.size()) > 0) return no_space();
  return write(data, place(offset),
               [&](const Slice& bytes) { return target()->PositionedAppend(bytes, offset, options, debug); });
}

// On Linux, O_APPEND sends even pwrite() to the end.
uint64_t FaultFile::place(uint64_t offset) const {
  return open_.at_end ? open_.durability->written : offset;
}

// Takes the space that there is for the bytes behind the end of the file, and says how many more they need.
size_t FaultFile::lacking_space(uint64_t offset, size_t bytes) {
  const uint64_t end = offset + bytes;
  const size_t growth = end - std::clamp(open_.durability->written, offset, end);
  return growth - fs_.take_space(growth);
}

// What the file holds of the given bytes.
IOStatus FaultFile::read_before(uint64_t offset, size_t bytes, std::string& before) const {
  const uint64_t end = offset + bytes;
  before.resize(std::clamp(open_.durability->written, offset, end) - offset);
  if (before.empty()) return IOStatus::OK();
  Slice read;
  IOStatus status = open_.reader->Read(offset, before.size(), rocksdb::IOOptions(), &read, before.data(), nullptr);
  if (status.ok() && read.size() < before.size()) status = IOStatus::IOError("the file was cut around the test's disk");
  return status;
}

template <typename Write>
IOStatus FaultFile::write(const Slice& data, uint64_t offset, const Write& to_disk) {
  std::string before;
  IOStatus status = read_before(offset, data.size(), before);
  if (!status.ok()) return status;
  std::string copy;
  status = to_disk(fs_.damaged(data, before, copy));
  if (status.ok()) open_.durability->write(offset, data.size(), std::move(before));
  return status;
}

IOStatus FaultFile::Truncate(uint64_t size, const Options& options, Debug* debug) {
  std::lock_guard lock(fs_.mutex_);
  FileDurability& durability = *open_.durability;
  std::string before;
  IOStatus status = fs_.refusal(open_);
  if (status.ok()) status = read_before(size, durability.written - std::min(size, durability.written), before);
  if (status.ok()) status = target()->Truncate(size, options, debug);
  if (status.ok()) durability.truncate(size, before);
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
