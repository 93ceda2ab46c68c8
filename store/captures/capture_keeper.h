// CaptureKeeper: rows and files of captures together, so that after any crash they agree.
//
// Purpose: the order of things. A content is durable under its name before the rows that refer to it are written; rows
// go in one synced write; a file goes only when no row refers to it any more. A crash in between leaves a file without
// a row, which the next start removes, and never a row without its file. Thread safety: all of it after recover().
// Ownership: the engine outlives it. Errors: the outcome says whether to try again. Losses: capture_counters.h.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "store/capture_store.h"
#include "store/captures/blob_files.h"
#include "store/captures/capture_table.h"
#include "store/captures/skipped_shares.h"
#include "store/rocks/engine.h"

namespace fathom::store {

class CaptureKeeper {
 public:
  explicit CaptureKeeper(Engine& engine);

  // Repairs differences of rows and files, counts the captures, and applies the budget.
  Result<> recover();

  // True if the disk has room for captures now. A refusal is counted.
  Result<> room_for(uint64_t bytes);
  Result<std::unique_ptr<BlobWriter>> begin_content() { return files_.begin(); }
  bool syncs() const { return engine_.options.durability == Durability::kFsync; }
  uint64_t most_bytes() const;  // that a capture may have
  // Stores a closed content under its header, which is complete; may drop the oldest for it.
  AppendResult keep(const CaptureInfo& info, BlobWriter& content);
  // True if a stored capture has the content with the announced hash and size.
  bool has_content(const CaptureInfo& announced) const;
  // As keep(), for a header whose content was stored when its upload began.
  AppendResult keep_known(CaptureInfo info);

  // Stores headers of skipped captures and gives them ids. Does not sync. Headers that are not stored are counted.
  Result<> keep_skipped(std::vector<CaptureInfo> skipped);

  const CaptureTable& table() const { return table_; }
  bool is_damaged(const Sha256& hash) const;
  Result<std::string> read(const CaptureId& id, uint64_t offset, size_t size);

  Result<> drop_before(uint64_t received_unix_nano);
  // Removes the files of what was dropped.
  void remove_unreferenced();
  bool has_unreferenced() const;
  CaptureStats stats() const;

 private:
  using Wanted = std::function<bool(const CaptureInfo&)>;

  Result<bool> is_unchecked() const;
  Result<> set_checked();
  Result<> count_rows();
  Result<> compare_files(uint8_t bucket);
  Result<> remove_orphan(const Sha256& hash);
  bool keeps_contents() const { return after_damage_ || engine_.database->log_was_cut(); }
  Result<> set_unchecked();
  Result<> keep_to_budget();
  AppendResult keep_again(const CaptureInfo& stored, const CaptureInfo& info, BlobWriter* content);
  // Stores a new capture; `content` is null if the content is stored already.
  AppendResult add(const CaptureInfo& info, BlobWriter* content);
  Result<> place(const Sha256& hash, BlobWriter& content);
  Result<> put_skipped(std::span<CaptureInfo> skipped);
  // Drops skipped captures if there is no room for `more`.
  Result<> make_room_for_skipped(uint64_t more);
  // Drops them in order until `wanted` returns false; returns the number dropped.
  Result<uint64_t> drop_skipped(std::vector<uint64_t> numbers, const char* reason, const Wanted& wanted);
  Result<> drop_old_skipped(const Wanted& is_old);
  // The oldest captures, for as long as they are wanted; their rows are erased in `batch`.
  Result<std::vector<CaptureInfo>> oldest(const Wanted& wanted, rocksdb::WriteBatch& batch) const;
  // The same as a write of its own; how many went.
  Result<size_t> drop(const Wanted& wanted, const char* reason);
  // `hash`: the content of the new capture, which is kept even if the other captures with it are dropped.
  Wanted beyond_budget(uint64_t bytes_more, const Sha256& hash = {}) const;
  // Counts a further capture of a stored content, without the content's bytes.
  void share(const Sha256& hash, uint64_t size_bytes);
  // Forgets a capture of a shared content. Returns the content's bytes if another capture has it, else 0.
  uint64_t unshare(const CaptureInfo& dropped);
  Result<> write(rocksdb::WriteBatch& batch) { return write(batch, syncs()); }
  Result<> write(rocksdb::WriteBatch& batch, bool sync);
  void forget(const std::vector<CaptureInfo>& dropped, const char* reason);
  void count(const CaptureInfo& info);
  void count_row(const CaptureInfo& info);
  void uncount(const CaptureInfo& dropped, const char* reason);
  Error damaged(const CaptureInfo& info);
  void set_damaged(const Sha256& hash, bool is);
  uint64_t used_bytes() const { return bytes_ + skipped_.size() * capture_charge_bytes(0); }
  void show() const;

  Engine& engine_;
  BlobFiles files_;
  CaptureTable table_;
  mutable std::mutex mutex_;   // protects changes of rows and of named files
  bool all_moved_ = true;      // every content that lost its rows in damage
  bool after_damage_ = false;  // damage to the log may have destroyed rows; constant after recover()
  uint64_t captures_ = 0;
  uint64_t bytes_ = 0;  // bytes of the budget that captures use
  SkippedShares skipped_;
  std::map<Sha256, uint64_t> sharing_;  // by content: number of captures beyond the first
  std::string oldest_key_;              // older keys were deleted; scans that start here skip their tombstones
  std::deque<Sha256> unreferenced_;
  mutable std::mutex damaged_mutex_;
  std::set<Sha256> damaged_;
};

}  // namespace fathom::store
