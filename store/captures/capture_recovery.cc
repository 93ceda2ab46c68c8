// What CaptureKeeper does at a start, and with damage.
#include <algorithm>

#include <rocksdb/write_batch.h>

#include "base/log.h"
#include "store/captures/capture_counters.h"
#include "store/captures/capture_keeper.h"
#include "store/rocks/counters.h"
#include "store/rocks/keys.h"

namespace fathom::store {

Result<> CaptureKeeper::recover() {
  files_.remove_incoming();
  // Now rather than in the first upload; on a full disk there are questions at least.
  [[maybe_unused]] Result<> made = files_.make_directories();
  Result<bool> unchecked = is_unchecked();
  if (!unchecked) return unchecked.error();
  after_damage_ = *unchecked;
  if (Result<> counted = count_rows(); !counted) return counted;
  for (uint8_t bucket = 0; bucket < BlobFiles::kBuckets; ++bucket) {
    if (Result<> compared = compare_files(bucket); !compared) return compared;
  }
  if (size_t damaged = stats().damaged; damaged > 0) {
    log_error("contents of captures that are gone or cut short: " + std::to_string(damaged));
  }
  captures_damaged().set(static_cast<int64_t>(damaged_.size()));
  show();
  if (Result<> kept = keep_to_budget(); !kept) return kept;
  // The next start would remove a content that is still here.
  if (!all_moved_) return set_unchecked();
  return after_damage_ ? set_checked() : Result<>();
}

// Whether damage to the log may have destroyed rows since captures were last compared with their files.
Result<bool> CaptureKeeper::is_unchecked() const {
  Database& database = *engine_.database;
  std::string value;
  rocksdb::Status status =
      database.db().Get(rocksdb::ReadOptions(), database.family(Family::kDefault), keys::kCapturesUnchecked, &value);
  if (!status.ok() && !status.IsNotFound()) return from_status(status, "read the data directory");
  return status.ok();
}

Result<> CaptureKeeper::set_unchecked() {
  rocksdb::WriteBatch batch;
  batch.Put(engine_.database->family(Family::kDefault), keys::kCapturesUnchecked, "");
  if (Result<> written = write(batch); !written) log_warning(written.error().message);
  return {};
}

Result<> CaptureKeeper::set_checked() {
  rocksdb::WriteBatch batch;
  batch.Delete(engine_.database->family(Family::kDefault), keys::kCapturesUnchecked);
  return write(batch);
}

// A row that does not decode is a lost capture: it is removed with its index rows, at a later start if the disk is
// full. After damage to the log, rows and index rows may disagree: the index is then written anew.
Result<> CaptureKeeper::count_rows() {
  rocksdb::WriteBatch lost;
  auto count_one = [&](const CaptureInfo& info) -> Result<bool> {
    count_row(info);
    if (after_damage_) table_.put(info, lost);
    return true;
  };
  Result<> read = table_.all(count_one, [&](const std::string& key) {
    lost_index_values("capture").add();
    lost.Delete(engine_.database->family(Family::kCapture), key);
  });
  if (!read || (lost.Count() == 0 && !after_damage_)) return read;
  Result<> written = write(lost);
  if (written) written = table_.remove_dangling();
  if (!written) log_warning("cannot remove the rows of lost captures yet: " + written.error().message);
  return {};
}

Result<> CaptureKeeper::compare_files(uint8_t bucket) {
  Result<std::set<Sha256>> files = files_.contents(bucket);
  if (!files) return files.error();
  std::set<Sha256> referred;
  Result<> read = table_.contents(bucket, [&](const Sha256& hash, Result<uint64_t> expected) {
    Result<uint64_t> found = files_.size_bytes(hash);
    bool whole = expected.ok() && found.ok() && *expected == *found;
    if (!whole) damaged_.insert(hash);
    const bool is_first = referred.insert(hash).second;
    if (!is_first && expected.ok()) share(hash, *expected);
  });
  if (!read) return read;
  for (const Sha256& hash : *files) {
    if (referred.contains(hash)) continue;
    if (Result<> removed = remove_orphan(hash); !removed) {
      log_warning(removed.error().message);
      all_moved_ &= !keeps_contents();
    }
  }
  return {};
}

// Removes a content without rows. After damage to the log, or if the log was cut, it may be all that is left of a
// capture: it is kept aside.
Result<> CaptureKeeper::remove_orphan(const Sha256& hash) {
  (after_damage_ ? lost_captures() : orphaned_contents()).add();
  if (!keeps_contents()) return files_.remove(hash);
  Result<> moved = files_.set_aside(hash);
  const std::string kept = "; its content is kept as " + (moved ? files_.aside_path(hash) : files_.path_of(hash));
  if (after_damage_) {
    log_error("damage to the log destroyed the rows of a capture" + kept);
  } else {
    log_warning("a capture has no rows, because a crash interrupted its write, or the disk lost the end of the log" +
                kept);
  }
  return moved;
}

// The budget may have become smaller since.
Result<> CaptureKeeper::keep_to_budget() {
  Result<size_t> dropped = size_t{1};
  while (dropped.ok() && *dropped > 0) dropped = drop(beyond_budget(0), "size");
  const Result<> kept = dropped.ok() ? make_room_for_skipped(0) : Result<>(dropped.error());
  // On a disk that is full there are questions at least; the next capture keeps to the budget.
  if (!kept) log_warning("captures are beyond their budget for now: " + kept.error().message);
  return {};
}

bool CaptureKeeper::is_damaged(const Sha256& hash) const {
  std::lock_guard lock(damaged_mutex_);
  return damaged_.contains(hash);
}

void CaptureKeeper::set_damaged(const Sha256& hash, bool is) {
  std::lock_guard lock(damaged_mutex_);
  bool changed = is ? damaged_.insert(hash).second : damaged_.erase(hash) > 0;
  if (!changed) return;
  captures_damaged().set(static_cast<int64_t>(damaged_.size()));
  if (is) log_error("the content of a capture is gone or cut short: " + hash.hex());
}

Result<std::string> CaptureKeeper::read(const CaptureId& id, uint64_t offset, size_t size) {
  Result<std::optional<CaptureInfo>> info = table_.get(id);
  if (!info) return info.error();
  if (!*info) return not_found("capture " + id.hex() + " is not stored");
  uint64_t all = (*info)->size_bytes;
  size_t wanted = offset >= all ? 0 : static_cast<size_t>(std::min<uint64_t>(size, all - offset));
  if (wanted == 0) return std::string();
  Result<std::string> bytes = files_.read((*info)->sha256, offset, wanted);
  bool gone = bytes.ok() ? bytes->size() < wanted : bytes.error().code == ErrorCode::kNotFound;
  if (gone) return damaged(**info);
  return bytes;
}

// Unless retention dropped it meanwhile.
Error CaptureKeeper::damaged(const CaptureInfo& info) {
  std::lock_guard lock(mutex_);
  Result<std::optional<CaptureInfo>> still = table_.get(info.id);
  if (!still) return still.error();
  if (!*still) return not_found("capture " + info.id.hex() + " is not stored any more");
  set_damaged(info.sha256, true);
  return corrupt("the content of capture " + info.id.hex() + " is gone or cut short");
}

}  // namespace fathom::store
