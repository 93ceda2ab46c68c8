#include "store/captures/capture_keeper.h"

#include <algorithm>

#include <rocksdb/write_batch.h>

#include "base/log.h"
#include "store/captures/capture_counters.h"
#include "store/rocks/disk_space.h"

namespace fathom::store {

namespace {

constexpr size_t kDropsPerWrite = 256;

// The part of capture_charge_bytes() for the content.
uint64_t content_charge_bytes(uint64_t size_bytes) {
  return capture_charge_bytes(size_bytes) - capture_charge_bytes(0);
}

AppendResult retryable(std::string message) {
  return {AppendOutcome::kRetryable, std::move(message), false};
}

}  // namespace

CaptureKeeper::CaptureKeeper(Engine& engine)
    : engine_(engine),
      files_(*engine.database->db().GetEnv(), engine.options.path, engine.options.durability == Durability::kFsync),
      table_(*engine.database) {}

Result<> CaptureKeeper::room_for(uint64_t bytes) {
  if (!engine_.writable.load()) {
    refused_captures("not_writable").add();
    return unavailable("the store takes no captures for now: its disk is full or faulty");
  }
  std::optional<DiskSpace> space = measure_disk(engine_);
  if (!space || space->has_room_for_capture(bytes)) return {};
  refused_captures("disk_nearly_full").add();
  return unavailable("the disk is nearly full: captures are refused until there is room");
}

uint64_t CaptureKeeper::most_bytes() const {
  uint64_t most = engine_.options.capture_most_bytes, budget = budget_without_skipped(engine_.options.capture_bytes);
  if (budget == 0 || capture_charge_bytes(most) <= budget) return most;
  uint64_t own_page = capture_charge_bytes(0);
  return budget < own_page ? 0 : (budget - own_page) / own_page * own_page;
}

AppendResult CaptureKeeper::keep(const CaptureInfo& info, BlobWriter& content) {
  std::lock_guard lock(mutex_);
  Result<std::optional<CaptureInfo>> stored = table_.get(info.id);
  if (!stored) return retryable(stored.error().message);
  return *stored ? keep_again(**stored, info, &content) : add(info, &content);
}

bool CaptureKeeper::has_content(const CaptureInfo& announced) const {
  if (announced.sha256.is_zero() || announced.size_bytes == 0 || is_damaged(announced.sha256)) return false;
  const Result<std::optional<uint64_t>> bytes = table_.content_bytes(announced.sha256);
  return bytes.ok() && *bytes == announced.size_bytes;
}

// Retention may have dropped the content since the upload began.
AppendResult CaptureKeeper::keep_known(CaptureInfo info) {
  std::lock_guard lock(mutex_);
  Result<std::optional<CaptureInfo>> stored = table_.get(info.id);
  if (!stored) return retryable(stored.error().message);
  if (*stored) return keep_again(**stored, info, nullptr);
  Result<std::optional<uint64_t>> bytes = table_.content_bytes(info.sha256);
  if (!bytes) return retryable(bytes.error().message);
  if (!*bytes || is_damaged(info.sha256)) return retryable("the content of the capture is gone; send it again");
  info.size_bytes = **bytes;
  return add(info, nullptr);
}

AppendResult CaptureKeeper::add(const CaptureInfo& info, BlobWriter* content) {
  Result<bool> shares = table_.refers_to(info.sha256);
  if (!shares) return retryable(shares.error().message);
  rocksdb::WriteBatch batch;
  const uint64_t bytes_more = capture_charge_bytes(*shares ? 0 : info.size_bytes);
  Result<std::vector<CaptureInfo>> dropped = oldest(beyond_budget(bytes_more, info.sha256), batch);
  if (!dropped) return retryable(dropped.error().message);
  Result<> written = content != nullptr ? place(info.sha256, *content) : Result<>();
  table_.put(info, batch);
  if (written) written = write(batch);
  if (!written) {
    refused_captures("write_failed").add();
    return retryable(written.error().message);
  }
  // Before the dropped captures are counted, because one of them may have the same content.
  if (*shares) share(info.sha256, info.size_bytes);
  forget(*dropped, "size");
  count(info);
  stored_captures().add();
  return {};
}

// What is stored and whole needs nothing; the content of what is damaged is welcome.
AppendResult CaptureKeeper::keep_again(const CaptureInfo& stored, const CaptureInfo& info, BlobWriter* content) {
  if (stored.sha256 != info.sha256) {
    rejected_captures("other_content").add();
    return {AppendOutcome::kRejected, "a capture with this id and other content is stored", false};
  }
  if (Result<> placed = content != nullptr ? place(info.sha256, *content) : Result<>(); !placed) {
    refused_captures("write_failed").add();
    return retryable(placed.error().message);
  }
  duplicate_captures().add();
  return {AppendOutcome::kDurable, "", true};
}

// Gives the content its name, unless it has it.
Result<> CaptureKeeper::place(const Sha256& hash, BlobWriter& content) {
  Result<bool> referred = table_.refers_to(hash);
  if (!referred) return referred.error();
  if (*referred && !is_damaged(hash)) return {};
  if (Result<> placed = files_.place(content, hash); !placed) {
    if (!*referred) unreferenced_.push_back(hash);  // it may have got as far as its name
    return placed;
  }
  set_damaged(hash, false);
  return {};
}

Result<std::vector<CaptureInfo>> CaptureKeeper::oldest(const Wanted& wanted, rocksdb::WriteBatch& batch) const {
  std::vector<CaptureInfo> found;
  Result<> read = table_.oldest_first(oldest_key_, [&](const CaptureInfo& info) -> Result<bool> {
    if (!wanted(info)) return false;
    table_.erase(info, batch);
    found.push_back(info);
    return true;
  });
  if (!read) return read.error();
  return found;
}

CaptureKeeper::Wanted CaptureKeeper::beyond_budget(uint64_t bytes_more, const Sha256& hash) const {
  uint64_t budget = budget_without_skipped(engine_.options.capture_bytes), after = bytes_ + bytes_more;
  uint64_t excess = budget == 0 || after <= budget ? 0 : after - budget;
  return [this, excess, hash, gone = std::map<Sha256, uint64_t>()](const CaptureInfo& info) mutable {
    if (excess == 0) return false;
    const auto sharing = sharing_.find(info.sha256);
    const uint64_t others = (sharing == sharing_.end() ? 0 : sharing->second) + (info.sha256 == hash);
    const bool is_last = gone[info.sha256]++ >= others;
    excess -= std::min(excess, capture_charge_bytes(is_last ? info.size_bytes : 0));
    return true;
  };
}

void CaptureKeeper::share(const Sha256& hash, uint64_t size_bytes) {
  if (size_bytes == 0) return;
  ++sharing_[hash];
  bytes_ -= std::min(bytes_, content_charge_bytes(size_bytes));
}

uint64_t CaptureKeeper::unshare(const CaptureInfo& dropped) {
  const auto sharing = sharing_.find(dropped.sha256);
  if (sharing == sharing_.end()) return 0;
  if (--sharing->second == 0) sharing_.erase(sharing);
  return content_charge_bytes(dropped.size_bytes);
}

Result<size_t> CaptureKeeper::drop(const Wanted& wanted, const char* reason) {
  std::lock_guard lock(mutex_);
  rocksdb::WriteBatch batch;
  size_t left = kDropsPerWrite;
  Result<std::vector<CaptureInfo>> dropped =
      oldest([&](const CaptureInfo& info) { return left-- > 0 && wanted(info); }, batch);
  if (!dropped) return dropped.error();
  if (dropped->empty()) return size_t{0};
  if (Result<> written = write(batch); !written) return written.error();
  forget(*dropped, reason);
  return dropped->size();
}

Result<> CaptureKeeper::drop_before(uint64_t received_unix_nano) {
  auto is_old = [&](const CaptureInfo& info) { return info.received_unix_nano < received_unix_nano; };
  Result<size_t> dropped = drop(is_old, "age");
  while (dropped.ok() && *dropped == kDropsPerWrite) dropped = drop(is_old, "age");
  return dropped.ok() ? drop_old_skipped(is_old) : Result<>(dropped.error());
}

Result<> CaptureKeeper::write(rocksdb::WriteBatch& batch, bool sync) {
  rocksdb::WriteOptions options;
  options.sync = sync;
  rocksdb::Status status = engine_.database->db().Write(options, &batch);
  if (status.ok()) return {};
  // A file that was named for it stays: the failed write may yet turn up at the next start.
  engine_.writable = false;
  log_error("a write of captures failed, refusing writes until the disk recovers: " + status.ToString());
  return from_status(status, "write the rows of a capture");
}

void CaptureKeeper::count_row(const CaptureInfo& info) {
  if (is_skipped(info.id)) return skipped_.add(info.node_id, skipped_number(info.id));
  ++captures_;
  bytes_ += capture_charge_bytes(info.size_bytes);
}

void CaptureKeeper::count(const CaptureInfo& info) {
  count_row(info);
  // An upload is stamped when it begins, and another one may end before it.
  oldest_key_ = std::min(oldest_key_, capture_keys::reception(info.received_unix_nano, info.id));
  show();
}

void CaptureKeeper::uncount(const CaptureInfo& dropped, const char* reason) {
  const uint64_t kept_bytes = unshare(dropped);
  bytes_ -= capture_charge_bytes(dropped.size_bytes) - kept_bytes;
  --captures_;
  dropped_captures(reason).add();
  if (kept_bytes == 0) dropped_capture_bytes(reason).add(dropped.size_bytes);
  unreferenced_.push_back(dropped.sha256);
}

void CaptureKeeper::forget(const std::vector<CaptureInfo>& dropped, const char* reason) {
  for (const CaptureInfo& info : dropped) {
    uncount(info, reason);
    // All that is left was received later.
    oldest_key_ = capture_keys::reception(info.received_unix_nano, info.id);
  }
  show();
}

void CaptureKeeper::remove_unreferenced() {
  for (size_t left = kDropsPerWrite; left > 0; --left) {
    std::lock_guard lock(mutex_);
    if (unreferenced_.empty()) return;
    Sha256 hash = unreferenced_.front();
    unreferenced_.pop_front();
    Result<bool> referred = table_.refers_to(hash);
    if (!referred || *referred) continue;
    set_damaged(hash, false);
    // What stays, the next start finds.
    if (Result<> removed = files_.remove(hash); !removed) log_warning(removed.error().message);
  }
}

bool CaptureKeeper::has_unreferenced() const {
  std::lock_guard lock(mutex_);
  return !unreferenced_.empty();
}

CaptureStats CaptureKeeper::stats() const {
  CaptureStats stats;
  std::lock_guard lock(mutex_);
  stats.captures = captures_;
  stats.skipped = skipped_.size();
  stats.bytes = used_bytes();
  {
    std::lock_guard damaged_lock(damaged_mutex_);
    stats.damaged = damaged_.size();
  }
  [[maybe_unused]] Result<> read = table_.oldest_first(oldest_key_, [&](const CaptureInfo& info) -> Result<bool> {
    stats.oldest_received_unix_nano = info.received_unix_nano;
    return false;
  });
  return stats;
}

void CaptureKeeper::show() const {
  captures_kept().set(static_cast<int64_t>(captures_));
  capture_bytes_kept().set(static_cast<int64_t>(used_bytes()));
  skipped_kept().set(static_cast<int64_t>(skipped_.size()));
}

}  // namespace fathom::store
