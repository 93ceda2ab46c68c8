#include "store/testing/fault_file_system.h"

#include <sys/stat.h>

#include <algorithm>
#include <cassert>

#include "store/testing/fault_file.h"

namespace fathom::store {

using rocksdb::FileOptions;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

namespace {

// A file keeps it under every name.
uint64_t inode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

FaultFileSystem::FaultFileSystem(std::shared_ptr<rocksdb::FileSystem> disk)
    : FileSystemWrapper(disk), changes_(*target()) {}

void FaultFileSystem::crash() {
  std::lock_guard lock(mutex_);
  powered_ = false;
}

void FaultFileSystem::restart(std::optional<uint64_t> torn_seed) {
  std::lock_guard lock(mutex_);
  assert(!powered_);
  changes_.drop(torn_seed);
  power_up();
}

void FaultFileSystem::restart_reordered(uint64_t seed) {
  std::lock_guard lock(mutex_);
  assert(!powered_);
  changes_.drop(seed, true);
  power_up();
}

void FaultFileSystem::restart_after_kill() {
  std::lock_guard lock(mutex_);
  assert(!powered_);
  power_up();
}

void FaultFileSystem::power_up() {
  powered_ = true;
  changes_left_.reset();
  damage_ = WriteDamage::kNone;
  ++power_cycle_;
}

void FaultFileSystem::crash_after(uint64_t changes) {
  std::lock_guard lock(mutex_);
  changes_left_ = changes;
}

bool FaultFileSystem::is_crashed() const {
  std::lock_guard lock(mutex_);
  return !powered_;
}

void FaultFileSystem::damage_write(WriteDamage damage, uint64_t appends, uint64_t seed) {
  std::lock_guard lock(mutex_);
  damage_ = damage;
  appends_until_damage_ = appends;
  damage_seed_ = seed;
}

rocksdb::Slice FaultFileSystem::damaged(const rocksdb::Slice& data, const std::string& before, std::string& copy) {
  if (damage_ == WriteDamage::kNone || data.empty() || appends_until_damage_-- > 0) return data;
  copy = damage_ == WriteDamage::kLost ? before : data.ToString();
  copy.resize(data.size());
  if (damage_ == WriteDamage::kFlipped) copy[damage_seed_ % copy.size()] ^= static_cast<char>(1 << damage_seed_ % 7);
  damage_ = WriteDamage::kNone;
  return copy;
}

void FaultFileSystem::set_free_bytes(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  free_bytes_ = bytes;
}

void FaultFileSystem::release_space() {
  std::lock_guard lock(mutex_);
  free_bytes_.reset();
}

void FaultFileSystem::fail_writes(bool fail) {
  std::lock_guard lock(mutex_);
  fail_writes_ = fail;
}

void FaultFileSystem::fail_syncs(bool fail) {
  std::lock_guard lock(mutex_);
  fail_syncs_ = fail;
}

void FaultFileSystem::fail_range_syncs(bool fail) {
  std::lock_guard lock(mutex_);
  fail_range_syncs_ = fail;
}

std::pair<uint64_t, uint64_t> FaultFileSystem::last_range_sync() const {
  std::lock_guard lock(mutex_);
  return last_range_;
}

uint64_t FaultFileSystem::unsynced_bytes() const {
  std::lock_guard lock(mutex_);
  return changes_.bytes();
}

IOStatus FaultFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                          std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) {
  // Its lines have times and numbers of threads, so the bytes that it takes differ from run to run.
  if (path.ends_with("/LOG")) return target()->NewWritableFile(path, options, file, debug);
  std::lock_guard lock(mutex_);
  IOStatus status = refusal();
  if (!status.ok()) return status;
  if (refuse_tables_ && path.ends_with(".sst")) return IOStatus::NoSpace("the test's disk has no space for tables");
  bool existed = target()->FileExists(path, options.io_options, debug).ok();
  status = target()->NewWritableFile(path, options, file, debug);
  if (!status.ok()) return status;
  if (!existed) changes_.created(path);
  return wrap(*file, path, 0, Opening::kNew);
}

IOStatus FaultFileSystem::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                             std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) {
  std::lock_guard lock(mutex_);
  IOStatus status = refusal();
  if (!status.ok()) return status;
  uint64_t size = 0;
  bool existed = target()->GetFileSize(path, options.io_options, &size, debug).ok();
  status = target()->ReopenWritableFile(path, options, file, debug);
  if (!status.ok()) return status;
  if (!existed) changes_.created(path);
  return wrap(*file, path, existed ? size : 0, Opening::kExisting);
}

// The caller wants space that it need not allocate, which is no matter here: it gets a fresh file under the new name.
IOStatus FaultFileSystem::ReuseWritableFile(const std::string& path, const std::string& old_path,
                                            const FileOptions& options, std::unique_ptr<FSWritableFile>* file,
                                            IODebugContext* debug) {
  IOStatus status = RenameFile(old_path, path, options.io_options, debug);
  return status.ok() ? NewWritableFile(path, options, file, debug) : status;
}

IOStatus FaultFileSystem::NewRandomAccessFile(const std::string& path, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                              IODebugContext* debug) {
  IOStatus status = target()->NewRandomAccessFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<FaultReadFile>(std::move(*file), *this, inode_of(path));
  return status;
}

IOStatus FaultFileSystem::NewRandomRWFile(const std::string&, const FileOptions&,
                                          std::unique_ptr<rocksdb::FSRandomRWFile>*, IODebugContext*) {
  return IOStatus::NotSupported("writes at random places are not modelled");
}

IOStatus FaultFileSystem::NewMemoryMappedFileBuffer(const std::string&,
                                                    std::unique_ptr<rocksdb::MemoryMappedFileBuffer>*) {
  return IOStatus::NotSupported("writes through memory are not modelled");
}

IOStatus FaultFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                       std::unique_ptr<rocksdb::FSDirectory>* directory, IODebugContext* debug) {
  IOStatus status = target()->NewDirectory(path, options, directory, debug);
  if (status.ok()) *directory = std::make_unique<FaultDirectory>(std::move(*directory), *this, path);
  return status;
}

IOStatus FaultFileSystem::DeleteFile(const std::string& path, const IOOptions&, IODebugContext*) {
  std::lock_guard lock(mutex_);
  IOStatus status = refusal();
  return status.ok() ? changes_.remove(path) : status;
}

IOStatus FaultFileSystem::Truncate(const std::string& path, size_t size, const IOOptions& options,
                                   IODebugContext* debug) {
  std::lock_guard lock(mutex_);
  IOStatus status = refusal();
  if (status.ok()) status = target()->Truncate(path, size, options, debug);
  auto file = changes_.find(path);
  if (status.ok() && file) file->truncate_durably(size);
  return status;
}

bool FaultFileSystem::is_across(const std::string& from, const std::string& to) const {
  return separate_directories_ && from.substr(0, from.rfind('/')) != to.substr(0, to.rfind('/'));
}

IOStatus FaultFileSystem::RenameFile(const std::string& from, const std::string& to, const IOOptions&,
                                     IODebugContext*) {
  std::lock_guard lock(mutex_);
  IOStatus status = refusal();
  if (status.ok() && is_across(from, to)) status = IOStatus::IOError("Invalid cross-device link");
  return status.ok() ? changes_.rename(from, to) : status;
}

IOStatus FaultFileSystem::LinkFile(const std::string& from, const std::string& to, const IOOptions&, IODebugContext*) {
  std::lock_guard lock(mutex_);
  IOStatus status = refusal();
  if (status.ok() && is_across(from, to)) status = IOStatus::NotSupported("No cross FS links allowed");
  return status.ok() ? changes_.link(from, to) : status;
}

IOStatus FaultFileSystem::GetFreeSpace(const std::string& path, const IOOptions& options, uint64_t* bytes,
                                       IODebugContext* debug) {
  IOStatus status = target()->GetFreeSpace(path, options, bytes, debug);
  std::lock_guard lock(mutex_);
  if (free_bytes_) *bytes = std::min(*bytes, *free_bytes_);
  return status;
}

IOStatus FaultFileSystem::refusal() {
  if (changes_left_ && (*changes_left_)-- == 0) {
    powered_ = false;
    changes_left_.reset();
  }
  if (!powered_) return IOStatus::IOError("the test's disk has no power");
  if (fail_writes_) return IOStatus::IOError("the test's disk fails writes");
  return IOStatus::OK();
}

IOStatus FaultFileSystem::refusal(const OpenFile& open) {
  if (open.power_cycle != power_cycle_) return IOStatus::IOError("this file was open when the power was cut");
  return refusal();
}

IOStatus FaultFileSystem::sync_refusal() const {
  return fail_syncs_ ? IOStatus::IOError("the test's disk fails syncs") : IOStatus::OK();
}

IOStatus FaultFileSystem::read_refusal(uint64_t inode, uint64_t offset, size_t bytes) const {
  std::lock_guard lock(mutex_);
  const bool touches_bad =
      bad_range_ && bad_range_->inode == inode && offset < bad_range_->end && offset + bytes > bad_range_->begin;
  return fail_reads_ || touches_bad ? IOStatus::IOError("the test's disk fails reads") : IOStatus::OK();
}

void FaultFileSystem::fail_reads_of(const std::string& path, uint64_t begin, uint64_t end) {
  std::lock_guard lock(mutex_);
  bad_range_ = BadRange{inode_of(path), begin, end};
}

// RocksDB opens an existing file with O_APPEND.
IOStatus FaultFileSystem::wrap(std::unique_ptr<FSWritableFile>& file, const std::string& path, uint64_t size,
                               Opening opening) {
  OpenFile open{changes_.open(path, size), power_cycle_, opening == Opening::kExisting, nullptr};
  IOStatus status = target()->NewRandomAccessFile(path, FileOptions(), &open.reader, nullptr);
  if (status.ok()) file = std::make_unique<FaultFile>(std::move(file), *this, std::move(open));
  return status;
}

size_t FaultFileSystem::take_space(size_t bytes) {
  if (!free_bytes_) return bytes;
  size_t taken = std::min<uint64_t>(bytes, *free_bytes_);
  *free_bytes_ -= taken;
  return taken;
}

}  // namespace fathom::store
