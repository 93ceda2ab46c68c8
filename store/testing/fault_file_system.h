// FaultFileSystem: a disk that loses power, fills up and fails when a test says so.
//
// Purpose: `kill -9` keeps the page cache and so proves nothing about fsync; this does. Everything goes through to the
// real file system below, and UnsyncedChanges remembers what a power cut would take back. A cut has two halves: crash()
// freezes the disk (whatever the database still tries fails, as if it had died there); the test then closes the
// database, which cannot tell anybody any more, and restart() drops what was not durable and gives the power back.
// Syncs are remembered, not passed on: no real power is cut in a test, and they would only cost time.
// A write may replace bytes of a file, durable ones too: until a sync, a cut brings the old ones back.
// Use: FaultEnv (fault_env.h) in the database's options. The info log (LOG) goes around all this.
// Thread safety: all of it; one lock serialises what changes the disk. Ownership: outlives its files' databases.
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "store/testing/unsynced_changes.h"

namespace fathom::store {

class FaultFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit FaultFileSystem(std::shared_ptr<rocksdb::FileSystem> disk = rocksdb::FileSystem::Default());

  // How a disk damages one write that it reports as successful.
  enum class WriteDamage { kNone, kLost, kFlipped };

  void crash();
  // The power fails before the given number of further changes and syncs.
  void crash_after(uint64_t changes);
  bool is_crashed() const;
  // With a seed, files keep a random part of their unsynced tail, and of their unsynced overwrites some of the oldest,
  // the last of them in part: the torn writes of an interrupted disk.
  void restart(std::optional<uint64_t> torn_seed = std::nullopt);
  // As restart(), but the disk reordered the writes: of the unsynced tails that files keep, a random part of the
  // 512-byte sectors is zeros, and each overwritten sector has either its new or its old content.
  void restart_reordered(uint64_t seed);
  // The process was killed, not the machine: the page cache keeps every change, until a power cut takes back what no
  // sync made durable.
  void restart_after_kill();
  // Damages one append, wherever it writes, after the given number of further appends. A lost one leaves the bytes that
  // it should have replaced; what it should have added reads as zeros.
  void damage_write(WriteDamage damage, uint64_t appends, uint64_t seed);

  // Files grow by this many bytes more, a part of the last write included, and then the disk has no space. What a write
  // replaces has its space already.
  void set_free_bytes(uint64_t bytes);
  void release_space();
  // No table can be begun because the disk has no space, so that sealing fails; logs still grow.
  void refuse_tables(bool refuse) { refuse_tables_ = refuse; }
  // Whatever changes the disk fails with an I/O error.
  void fail_writes(bool fail);
  // No file can be linked or moved into another directory, as if each were a file system of its own.
  void separate_directories(bool separate) { separate_directories_ = separate; }
  // Syncs fail; what they should have made durable never becomes so, however many later ones succeed.
  void fail_syncs(bool fail);
  // Starting to write out a part of a file fails.
  void fail_range_syncs(bool fail);
  // The offset and the bytes of the last such start.
  std::pair<uint64_t, uint64_t> last_range_sync() const;
  // Reading at a place fails, as tables are read; what is open stays open and can be read again afterwards.
  void fail_reads(bool fail) { fail_reads_ = fail; }
  // The same for a range of bytes of one file: bad sectors.
  void fail_reads_of(const std::string& path, uint64_t begin, uint64_t end);

  uint64_t file_syncs() const { return file_syncs_.load(); }  // successful ones
  uint64_t directory_syncs() const { return directory_syncs_.load(); }
  uint64_t unsynced_bytes() const;  // what crash() would lose now

  const char* Name() const override { return "FaultFileSystem"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewMemoryMappedFileBuffer(const std::string& path,
                                              std::unique_ptr<rocksdb::MemoryMappedFileBuffer>* file) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Truncate(const std::string& path, size_t size, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options, uint64_t* bytes,
                                 rocksdb::IODebugContext* debug) override;

 private:
  friend class FaultFile;
  friend class FaultDirectory;
  friend class FaultReadFile;

  struct BadRange {
    uint64_t inode = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  // One file that is open for writing; a handle from before a restart stays dead.
  struct OpenFile {
    std::shared_ptr<FileDurability> durability;
    uint64_t power_cycle = 0;
    bool at_end = false;  // every write goes to the file's end
    // Reads what a write is about to replace, even if the file has got another name since.
    std::unique_ptr<rocksdb::FSRandomAccessFile> reader;
  };
  enum class Opening { kNew, kExisting };

  void power_up();
  rocksdb::IOStatus refusal();  // why the disk cannot change now; OK when it can
  rocksdb::IOStatus refusal(const OpenFile& open);
  rocksdb::IOStatus sync_refusal() const;
  rocksdb::IOStatus read_refusal(uint64_t inode, uint64_t offset, size_t bytes) const;
  // `size`: of the file as it was opened.
  rocksdb::IOStatus wrap(std::unique_ptr<rocksdb::FSWritableFile>& file, const std::string& path, uint64_t size,
                         Opening opening);
  size_t take_space(size_t bytes);
  bool is_across(const std::string& from, const std::string& to) const;
  // The bytes that reach the disk instead of `data`; `copy` holds them if they differ. `before`: what `data` replaces.
  rocksdb::Slice damaged(const rocksdb::Slice& data, const std::string& before, std::string& copy);

  mutable std::mutex mutex_;
  UnsyncedChanges changes_;
  bool powered_ = true;
  uint64_t power_cycle_ = 0;
  std::optional<uint64_t> free_bytes_;
  std::optional<uint64_t> changes_left_;  // until the power fails
  WriteDamage damage_ = WriteDamage::kNone;
  uint64_t appends_until_damage_ = 0;
  uint64_t damage_seed_ = 0;
  bool fail_writes_ = false;
  bool fail_syncs_ = false;
  bool fail_range_syncs_ = false;
  std::pair<uint64_t, uint64_t> last_range_;
  std::atomic<bool> fail_reads_{false};
  std::optional<BadRange> bad_range_;
  std::atomic<bool> refuse_tables_{false};
  std::atomic<bool> separate_directories_{false};
  std::atomic<uint64_t> file_syncs_{0};
  std::atomic<uint64_t> directory_syncs_{0};
};

}  // namespace fathom::store
