// BlobFiles: contents in files that are named by what they hold; DESIGN's BlobStore.
//
// Purpose: the files of DIR/captures, and in which order they are made durable. A content is written to
// captures/incoming/N, and moved to captures/a/<hash> when all of it is durable; so whatever has a name is whole. Who
// refers to a file is not known here. Thread safety: all of it, but one writer is one thread's; place() and remove() of
// one hash must not run at the same time. Ownership: `env` must outlive it and its writers. Errors: kUnavailable, with
// the system's words.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include <rocksdb/env.h>

#include "base/result.h"
#include "base/sha256.h"

namespace fathom::store {

class BlobFiles;

// A content on its way. Removes its file when it dies, unless it was placed.
class BlobWriter {
 public:
  BlobWriter(rocksdb::Env& env, std::string path, std::unique_ptr<rocksdb::WritableFile> file);
  ~BlobWriter();
  BlobWriter(const BlobWriter&) = delete;
  BlobWriter& operator=(const BlobWriter&) = delete;

  Result<> append(std::string_view bytes);
  // Nothing comes any more; with `sync`, all that came is durable afterwards.
  Result<Sha256> close(bool sync);
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  friend class BlobFiles;
  rocksdb::Env& env_;
  const std::string path_;
  std::unique_ptr<rocksdb::WritableFile> file_;
  Sha256Hasher hasher_;
  uint64_t size_bytes_ = 0;
  uint64_t started_bytes_ = 0;  // up to here the disk was told to begin
  bool placed_ = false;
};

class BlobFiles {
 public:
  // Directories by the hash's first hexadecimal digit, so that none has very many names.
  static constexpr uint8_t kBuckets = 16;
  static uint8_t bucket_of(const Sha256& hash) { return hash.bytes[0] >> 4; }

  BlobFiles(rocksdb::Env& env, const std::string& data_directory, bool sync);

  // What a crash left on its way goes. Before anything else, once.
  void remove_incoming();
  // The first begin() does this where nobody else did.
  Result<> make_directories();
  Result<std::unique_ptr<BlobWriter>> begin();
  // Gives a closed content its name, for good; replaces what has it.
  Result<> place(BlobWriter& writer, const Sha256& hash);
  Result<> remove(const Sha256& hash);  // also when there is no such file
  // Moves a content to DIR/damaged/captures.
  Result<> set_aside(const Sha256& hash);
  std::string aside_path(const Sha256& hash) const;
  std::string path_of(const Sha256& hash) const;
  // At most `size` bytes. kNotFound: there is no such file.
  Result<std::string> read(const Sha256& hash, uint64_t offset, size_t size) const;
  // kNotFound: there is no such file.
  Result<uint64_t> size_bytes(const Sha256& hash) const;
  // Those in a bucket, ascending.
  Result<std::set<Sha256>> contents(uint8_t bucket) const;

 private:
  std::string bucket_path(uint8_t bucket) const;
  Result<> sync_directory(const std::string& path);

  rocksdb::Env& env_;
  const std::string data_directory_;
  const std::string root_;
  const std::string incoming_;
  const bool sync_;
  std::atomic<uint64_t> next_{0};
  std::mutex mutex_;
  bool made_ = false;  // the directories are there, durably
};

}  // namespace fathom::store
