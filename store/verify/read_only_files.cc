#include "store/verify/read_only_files.h"

namespace fathom::store {

namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

IOStatus rejected(const std::string& path) {
  return IOStatus::IOError("the data directory is open for reading only", path);
}

}  // namespace

const std::string& ReadOnlyFiles::source_of(const std::string& path) const {
  const auto copy = copies_.find(path);
  return copy == copies_.end() ? path : copy->second;
}

IOStatus ReadOnlyFiles::NewSequentialFile(const std::string& path, const FileOptions& options,
                                          std::unique_ptr<rocksdb::FSSequentialFile>* file, IODebugContext* debug) {
  return target()->NewSequentialFile(source_of(path), options, file, debug);
}

IOStatus ReadOnlyFiles::NewRandomAccessFile(const std::string& path, const FileOptions& options,
                                            std::unique_ptr<rocksdb::FSRandomAccessFile>* file, IODebugContext* debug) {
  return target()->NewRandomAccessFile(source_of(path), options, file, debug);
}

IOStatus ReadOnlyFiles::GetFileSize(const std::string& path, const IOOptions& options, uint64_t* bytes,
                                    IODebugContext* debug) {
  return target()->GetFileSize(source_of(path), options, bytes, debug);
}

IOStatus ReadOnlyFiles::NewWritableFile(const std::string& path, const FileOptions&,
                                        std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) {
  return rejected(path);
}

IOStatus ReadOnlyFiles::ReopenWritableFile(const std::string& path, const FileOptions&,
                                           std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) {
  return rejected(path);
}

IOStatus ReadOnlyFiles::ReuseWritableFile(const std::string& path, const std::string&, const FileOptions&,
                                          std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) {
  return rejected(path);
}

IOStatus ReadOnlyFiles::NewRandomRWFile(const std::string& path, const FileOptions&,
                                        std::unique_ptr<rocksdb::FSRandomRWFile>*, IODebugContext*) {
  return rejected(path);
}

IOStatus ReadOnlyFiles::NewMemoryMappedFileBuffer(const std::string& path,
                                                  std::unique_ptr<rocksdb::MemoryMappedFileBuffer>*) {
  return rejected(path);
}

IOStatus ReadOnlyFiles::NewLogger(const std::string& path, const IOOptions&, std::shared_ptr<rocksdb::Logger>*,
                                  IODebugContext*) {
  return rejected(path);
}

IOStatus ReadOnlyFiles::DeleteFile(const std::string& path, const IOOptions&, IODebugContext*) {
  return rejected(path);
}

IOStatus ReadOnlyFiles::Truncate(const std::string& path, size_t, const IOOptions&, IODebugContext*) {
  return rejected(path);
}

IOStatus ReadOnlyFiles::CreateDir(const std::string& path, const IOOptions&, IODebugContext*) {
  return rejected(path);
}

IOStatus ReadOnlyFiles::CreateDirIfMissing(const std::string& path, const IOOptions& options, IODebugContext* debug) {
  // RocksDB asks for its own directory, which is there.
  return target()->FileExists(path, options, debug).ok() ? IOStatus::OK() : rejected(path);
}

IOStatus ReadOnlyFiles::DeleteDir(const std::string& path, const IOOptions&, IODebugContext*) {
  return rejected(path);
}

IOStatus ReadOnlyFiles::RenameFile(const std::string& from, const std::string&, const IOOptions&, IODebugContext*) {
  return rejected(from);
}

IOStatus ReadOnlyFiles::LinkFile(const std::string& from, const std::string&, const IOOptions&, IODebugContext*) {
  return rejected(from);
}

IOStatus ReadOnlyFiles::LockFile(const std::string& path, const IOOptions&, rocksdb::FileLock**, IODebugContext*) {
  return rejected(path);
}

}  // namespace fathom::store
