// UnsyncedChanges: what a file system was asked to do and has not yet been asked to make durable; for tests.
//
// Purpose: the model of a power cut, at its strictest reading of POSIX. A file keeps the bytes of its last successful
// sync: drop() cuts what was written behind them, and puts back what was overwritten or cut off. A name that was made,
// renamed or removed is durable once its directory (for a rename, the new name's) was synced; until then drop() takes
// it back: new names vanish, old ones return with what they held. After a sync that failed, a later one that succeeds
// proves nothing (Linux marks the pages clean), so that file keeps what it had before. Making and removing directories
// is not modelled: it is durable at once. Thread safety: none; the owner locks. Ownership: the file system must outlive
// it. What may have to return is kept in "<directory>.kept", beside the directory, on the same disk.
// Source of the idea: "All File Systems Are Not Created Equal" (Pillai and others, OSDI 2014).
#pragma once

#include <rocksdb/file_system.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace fathom::store {

// Durable bytes that a write replaced, as they were just before it.
struct Overwrite {
  uint64_t offset = 0;
  std::string before;

  uint64_t end() const { return offset + before.size(); }
  void clip(uint64_t size) { before.resize(std::clamp(size, offset, end()) - offset); }
};

// One file, whatever it is called at the moment.
struct FileDurability {
  uint64_t written = 0;  // the file's size
  uint64_t durable = 0;
  bool sync_failed = false;
  std::vector<Overwrite> overwrites;  // since the last successful sync, oldest first; for ever after a failed one
  std::optional<Overwrite> cut_off;   // the durable end of the file, if it was truncated since that sync

  // `before`: what the write replaced, which is less than `size` if the write reached behind the end of the file.
  void write(uint64_t offset, uint64_t size, std::string before);
  // `before`: what the file held from `size` on.
  void truncate(uint64_t size, const std::string& before);
  void truncate_durably(uint64_t size);
  void sync();
};

class UnsyncedChanges {
 public:
  explicit UnsyncedChanges(rocksdb::FileSystem& disk) : disk_(disk) {}
  ~UnsyncedChanges();

  // The record of a file that is about to be written; `size` bytes of it were there before.
  std::shared_ptr<FileDurability> open(const std::string& path, uint64_t size);
  std::shared_ptr<FileDurability> find(const std::string& path) const;  // null: all of it is durable

  void created(const std::string& path);
  rocksdb::IOStatus remove(const std::string& path);
  rocksdb::IOStatus rename(const std::string& from, const std::string& to);
  rocksdb::IOStatus link(const std::string& from, const std::string& to);
  void sync_directory(const std::string& directory);

  // The power cut. With a seed, files keep some of their unsynced bytes, as a disk that was interrupted may: a part of
  // what lies behind the durable bytes, and of the overwrites the oldest ones, the last of these up to some byte. What
  // was cut off comes back, with a seed for one of two files; the file then has its durable size.
  // `reordered`: of the part behind, some 512-byte sectors are zeros; each overwritten sector is as it was after one of
  // its overwrites, or before all of them.
  void drop(std::optional<uint64_t> torn_seed, bool reordered = false);
  uint64_t bytes() const;  // written and not durable; each overwrite of a byte counts

 private:
  enum class Kind { kCreate, kRemove, kRename };
  struct Change {
    Kind kind;
    std::string path;  // for a rename, the new name
    std::string from;  // for a rename, the old name
    std::string kept;  // where the file lies that had the name before; empty: there was none
    std::shared_ptr<FileDurability> kept_file;
  };
  using Files = std::map<std::string, std::shared_ptr<FileDurability>>;

  bool exists(const std::string& path) const;
  void drop_end(const std::string& path, FileDurability& file, bool torn, bool reordered, std::mt19937_64& random);
  rocksdb::IOStatus keep(Change& change);  // moves what has the name away
  void undo(const Change& change);
  void move(const std::string& from, const std::string& to);
  std::shared_ptr<FileDurability> take(const std::string& path);

  rocksdb::FileSystem& disk_;
  Files files_;
  std::vector<Change> changes_;  // oldest first
  std::set<std::string> kept_directories_;
  uint64_t next_kept_ = 0;
};

}  // namespace fathom::store
