// UpgradeBackup: the state of a data directory before an upgrade, so that the upgrade can be reverted.
//
// Purpose: a server that opens a directory of an older format first copies it to DIR/before-upgrade: hard links for
// files that never change, copies of the others. Then it raises DIR/version. Until the upgrade is committed,
// revert_upgrade() restores the directory; data received after the upgrade is lost then. The server commits after 24
// hours of running, when commit_upgrade() is called, or when the disk becomes full. Each step leaves a directory that
// the next call completes, also after a power cut (docs/formats/data-directory.md has the steps). Thread safety: the
// owner of the directory, one thread; pending_upgrade() and commit_upgrade() also beside a running server. Errors:
// kNotFound: there is nothing to revert; kUnavailable: no room, or the directory is in use; kCorrupt: the backup is
// damaged or incomplete, and nothing was changed; kUnsupported: a newer program made the backup.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace fathom::store {

struct PendingUpgrade {
  int from = 0;
  int to = 0;
  uint64_t made_unix_nano = 0;
  uint64_t ran_nano = 0;  // how long servers of the new version have run since
};

// Called between the steps, for tests; false: stop there, as a crash would.
using AtStep = std::function<bool(const std::string& step)>;

// Before the first change to an older directory whose store is locked and closed. Replaces an older backup. An error
// leaves the directory as it was.
Result<> begin_upgrade(const std::string& path, int from, int to, uint64_t now_unix_nano, const AtStep& at_step = {});
// A backup exists, damaged or not.
bool has_backup(const std::string& path);
// Changes nothing: what revert_upgrade() checks before it removes anything. Without a backup there is no error.
Result<> check_backup(const std::string& path);
// Nothing: there is no upgrade that could be reverted, or the backup is damaged.
std::optional<PendingUpgrade> pending_upgrade(const std::string& path);
// Adds to PendingUpgrade::ran_nano.
Result<> note_running(const std::string& path, uint64_t ran_nano);
// Deletes the backup. Without one it does nothing.
Result<> commit_upgrade(const std::string& path);
// For people: which data a revert restores, and which data is lost.
std::string describe_revert(const std::string& path, const PendingUpgrade& upgrade);
// Restores the directory; call it again after an interruption. kUnavailable: a server has the directory open.
Result<> revert_upgrade(const std::string& path, const AtStep& at_step = {});
// A revert has begun and not finished: no server may open the directory.
bool is_being_reverted(const std::string& path);
// Removes what interrupted calls left behind. At each start.
void remove_upgrade_leftovers(const std::string& path);

}  // namespace fathom::store
