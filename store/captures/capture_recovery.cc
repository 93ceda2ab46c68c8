// What CaptureKeeper does at a start, and with damage.
#include <algorithm>

#include <rocksdb/write_batch.h>

#include "base/log.h"
#include "store/captures/capture_counters.h"
#include "store/captures/capture_keeper.h"
#include "store/rocks/counters.h"

namespace fathom::store {

Result<> CaptureKeeper::recover() {
  files_.remove_incoming();
  // Now rather than in the first upload; on a full disk there are questions at least.
  [[maybe_unused]] Result<> made = files_.make_directories();
  if (Result<> counted = count_rows(); !counted) return counted;
  for (uint8_t bucket = 0; bucket < BlobFiles::kBuckets; ++bucket) {
    if (Result<> compared = compare_files(bucket); !compared) return compared;
  }
  if (size_t damaged = stats().damaged; damaged > 0) {
    log_error("contents of captures that are gone or cut short: " + std::to_string(damaged));
  }
  captures_damaged().set(static_cast<int64_t>(damaged_.size()));
  show();
  return keep_to_budget();
}

// A row that does not decode is a lost capture: it goes, and what pointed to it; at a later start where the disk is
// full.
Result<> CaptureKeeper::count_rows() {
  rocksdb::WriteBatch lost;
  auto count_row = [this](const CaptureInfo& info) -> Result<bool> {
    ++captures_;
    bytes_ += capture_charge_bytes(info.size_bytes);
    return true;
  };
  Result<> read = table_.all(count_row, [&](const std::string& key) {
    lost_index_values("capture").add();
    lost.Delete(engine_.database->family(Family::kCapture), key);
  });
  if (!read || lost.Count() == 0) return read;
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
    referred.insert(hash);
  });
  if (!read) return read;
  for (const Sha256& hash : *files) {
    if (referred.contains(hash)) continue;
    Result<> removed = files_.remove(hash);
    if (!removed) log_warning(removed.error().message);
    if (removed) orphaned_contents().add();
  }
  return {};
}

// The budget may have become smaller since.
Result<> CaptureKeeper::keep_to_budget() {
  Result<size_t> dropped = size_t{1};
  while (dropped.ok() && *dropped > 0) dropped = drop(beyond_budget(0), "size");
  // On a disk that is full there are questions at least; the next capture keeps to the budget.
  if (!dropped) log_warning("captures are beyond their budget for now: " + dropped.error().message);
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
