#include "store/captures/blob_files.h"

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "store/rocks/database.h"
#include "store/wal/replace_env_file.h"

namespace fathom::store {

namespace {

// The disk begins with what is there while more arrives and is hashed; the sync at the end then waits for the rest.
constexpr uint64_t kStartBytes = 1 << 20;

rocksdb::EnvOptions plain_writes() {
  rocksdb::EnvOptions options;
  options.use_mmap_writes = false;
  return options;
}

Error fault(const rocksdb::Status& status, const std::string& doing) {
  Error error = from_status(status, doing);
  if (error.code != ErrorCode::kNotFound) error.code = ErrorCode::kUnavailable;
  return error;
}

Result<> done(const rocksdb::Status& status, const std::string& doing) {
  return status.ok() ? Result<>() : Result<>(fault(status, doing));
}

// RocksDB tells "no such file" in two ways.
bool is_absent(const rocksdb::Status& status) {
  return status.IsNotFound() || status.IsPathNotFound();
}

}  // namespace

BlobWriter::BlobWriter(rocksdb::Env& env, std::string path, std::unique_ptr<rocksdb::WritableFile> file)
    : env_(env), path_(std::move(path)), file_(std::move(file)) {}

BlobWriter::~BlobWriter() {
  if (placed_) return;
  file_.reset();
  // What cannot be removed now goes at the next start.
  env_.DeleteFile(path_).PermitUncheckedError();
}

Result<> BlobWriter::append(std::string_view bytes) {
  rocksdb::Status status = file_->Append(rocksdb::Slice(bytes.data(), bytes.size()));
  if (!status.ok()) return fault(status, "write a capture");
  size_bytes_ += bytes.size();
  if (size_bytes_ - started_bytes_ >= kStartBytes) {
    // Only a hint: what goes wrong with it goes wrong again when it is synced.
    file_->RangeSync(started_bytes_, size_bytes_ - started_bytes_).PermitUncheckedError();
    started_bytes_ = size_bytes_;
  }
  hasher_.add(bytes);
  return {};
}

Result<Sha256> BlobWriter::close(bool sync) {
  rocksdb::Status status = sync ? file_->Sync() : rocksdb::Status::OK();
  // Many are stored and few are read: they would only push spans out of the page cache.
  if (sync) file_->InvalidateCache(0, 0).PermitUncheckedError();
  if (status.ok()) status = file_->Close();
  if (!status.ok()) return fault(status, "make a capture durable");
  return hasher_.finish();
}

BlobFiles::BlobFiles(rocksdb::Env& env, const std::string& data_directory, bool sync)
    : env_(env),
      data_directory_(data_directory),
      root_(data_directory + "/captures"),
      incoming_(root_ + "/incoming"),
      sync_(sync) {}

void BlobFiles::remove_incoming() {
  std::vector<std::string> names;
  if (!env_.GetChildren(incoming_, &names).ok()) return;  // there is none yet
  for (const std::string& name : names) {
    rocksdb::Status status = env_.DeleteFile(incoming_ + "/" + name);
    if (!status.ok()) log_warning("cannot remove what is left of a capture: " + status.ToString());
  }
}

Result<std::unique_ptr<BlobWriter>> BlobFiles::begin() {
  if (Result<> made = make_directories(); !made) return made.error();
  std::string path = incoming_ + "/" + std::to_string(next_.fetch_add(1));
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env_.NewWritableFile(path, &file, plain_writes());
  if (!status.ok()) return fault(status, "begin a capture");
  return std::make_unique<BlobWriter>(env_, std::move(path), std::move(file));
}

Result<> BlobFiles::place(BlobWriter& writer, const Sha256& hash) {
  rocksdb::Status status = env_.RenameFile(writer.path_, path_of(hash));
  if (!status.ok()) return fault(status, "name a capture");
  writer.placed_ = true;
  return sync_directory(bucket_path(bucket_of(hash)));
}

Result<> BlobFiles::remove(const Sha256& hash) {
  rocksdb::Status status = env_.DeleteFile(path_of(hash));
  return is_absent(status) ? Result<>() : done(status, "remove a capture");
}

std::string BlobFiles::aside_path(const Sha256& hash) const {
  return data_directory_ + "/damaged/captures/" + hash.hex();
}

Result<> BlobFiles::set_aside(const Sha256& hash) {
  rocksdb::Status status = env_.CreateDirIfMissing(data_directory_ + "/damaged");
  if (status.ok()) status = env_.CreateDirIfMissing(data_directory_ + "/damaged/captures");
  if (status.ok()) status = move_env_file(env_, path_of(hash), aside_path(hash));
  return done(status, "move a capture's content aside");
}

Result<std::string> BlobFiles::read(const Sha256& hash, uint64_t offset, size_t size) const {
  std::unique_ptr<rocksdb::RandomAccessFile> file;
  rocksdb::Status status = env_.NewRandomAccessFile(path_of(hash), &file, rocksdb::EnvOptions());
  if (is_absent(status)) return not_found("the content of a capture is gone");
  std::string bytes(size, '\0');
  rocksdb::Slice got;
  if (status.ok()) status = file->Read(offset, size, &got, bytes.data());
  if (!status.ok()) return fault(status, "read a capture");
  if (got.data() != bytes.data()) return got.ToString();
  bytes.resize(got.size());
  return bytes;
}

Result<uint64_t> BlobFiles::size_bytes(const Sha256& hash) const {
  uint64_t bytes = 0;
  rocksdb::Status status = env_.FileExists(path_of(hash));
  if (status.ok()) status = env_.GetFileSize(path_of(hash), &bytes);
  if (is_absent(status)) return not_found("the content of a capture is gone");
  if (!status.ok()) return fault(status, "look at a capture");
  return bytes;
}

Result<std::set<Sha256>> BlobFiles::contents(uint8_t bucket) const {
  std::vector<std::string> names;
  rocksdb::Status status = env_.GetChildren(bucket_path(bucket), &names);
  if (is_absent(status)) return std::set<Sha256>();
  if (!status.ok()) return fault(status, "list captures");
  std::set<Sha256> found;
  for (const std::string& name : names) {
    std::optional<Sha256> hash = Sha256::from_hex_text(name);
    // Other names are not ours.
    if (hash && bucket_of(*hash) == bucket && hash->hex() == name) found.insert(*hash);
  }
  return found;
}

std::string BlobFiles::bucket_path(uint8_t bucket) const {
  return root_ + "/" + "0123456789abcdef"[bucket];
}

std::string BlobFiles::path_of(const Sha256& hash) const {
  return bucket_path(bucket_of(hash)) + "/" + hash.hex();
}

Result<> BlobFiles::make_directories() {
  std::lock_guard lock(mutex_);
  if (made_) return {};
  rocksdb::Status status = env_.CreateDirIfMissing(root_);
  if (status.ok()) status = env_.CreateDirIfMissing(incoming_);
  for (uint8_t bucket = 0; bucket < kBuckets && status.ok(); ++bucket) {
    status = env_.CreateDirIfMissing(bucket_path(bucket));
  }
  if (!status.ok()) return fault(status, "make a directory for captures");
  Result<> synced = sync_directory(data_directory_);
  if (synced) synced = sync_directory(root_);
  made_ = synced.ok();
  return synced;
}

Result<> BlobFiles::sync_directory(const std::string& path) {
  if (!sync_) return {};
  std::unique_ptr<rocksdb::Directory> directory;
  rocksdb::Status status = env_.NewDirectory(path, &directory);
  if (status.ok()) status = directory->Fsync();
  return done(status, "make a capture's name durable");
}

}  // namespace fathom::store
