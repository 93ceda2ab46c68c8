#include "store/rocks/upgrade_keeper.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/metrics.h"
#include "base/time.h"
#include "store/rocks/upgrade_backup.h"

namespace fathom::store {

namespace {

constexpr uint64_t kNotesPerCommit = 24;

Gauge& pending_upgrades() {
  return gauge("fathom_upgrade_pending", "1 while the upgrade of the data directory can be reverted");
}

}  // namespace

// Captures and snapshots are refused below twice the reserve.
bool has_room_for_backup(const DiskSpace& space) {
  return space.has_room_for(2 * space.reserve_bytes);
}

UpgradeKeeper::UpgradeKeeper(std::string path, uint64_t commit_after_nano)
    : path_(std::move(path)), commit_after_nano_(commit_after_nano), noted_nano_(now_monotonic_nano()) {
  const std::optional<PendingUpgrade> upgrade = pending_upgrade(path_);
  is_pending_ = has_backup(path_);
  ran_nano_ = upgrade ? upgrade->ran_nano : 0;
  const Result<> checked = check_backup(path_);
  if (!checked) log_error("the upgrade cannot be reverted: " + checked.error().message);
  pending_upgrades().set(is_pending_ && checked.ok());
}

void UpgradeKeeper::look(const DiskSpace& space, uint64_t now_monotonic_nano) {
  if (!is_pending_) return;
  if (!has_room_for_backup(space)) return commit("the disk is nearly full");
  if (ran_nano_ + now_monotonic_nano - noted_nano_ >= commit_after_nano_) {
    return commit("this version has run for " + format_duration(commit_after_nano_));
  }
  if (now_monotonic_nano - noted_nano_ >= commit_after_nano_ / kNotesPerCommit) note(now_monotonic_nano);
}

void UpgradeKeeper::commit(const std::string& why) {
  if (Result<> committed = commit_upgrade(path_); !committed) return log_warning(committed.error().message);
  log_info("the upgrade of " + path_ + " is committed and cannot be reverted any more: " + why);
  is_pending_ = false;
  pending_upgrades().set(0);
}

void UpgradeKeeper::note(uint64_t now_monotonic_nano) {
  const uint64_t ran_nano = now_monotonic_nano - std::exchange(noted_nano_, now_monotonic_nano);
  ran_nano_ += ran_nano;
  Result<> noted = note_running(path_, ran_nano);
  if (noted) return;
  if (noted.error().code != ErrorCode::kNotFound) return log_warning(noted.error().message);
  // Committed by command.
  is_pending_ = false;
  pending_upgrades().set(0);
}

}  // namespace fathom::store
