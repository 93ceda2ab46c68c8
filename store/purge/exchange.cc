#include "store/purge/exchange.h"

#include <fcntl.h>
#include <sys/file.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/sync_directory.h"
#include "store/purge/purge.h"
#include "store/verify/repair_mark.h"
#include "store/verify/repair_target.h"

namespace fathom::store {

namespace {

namespace fs = std::filesystem;

constexpr const char* kExchangedParts[] = {"store", "captures"};

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

Result<> remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? Result<>(unavailable("cannot remove " + path + ": " + error.message())) : Result<>();
}

Result<> move_path(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? Result<>(unavailable("cannot rename " + from + " to " + to + ": " + error.message())) : Result<>();
}

// Nothing has been exchanged yet, and a server has used the directory since the copy was made.
bool is_outdated(const std::string& directory, const std::string& copy) {
  if (!exists(copy + "/store") || !exists(directory + "/store")) return false;
  const Result<RepairMark> mark = RepairMark::read(copy);
  return !mark || mark->source != repair_source(directory);
}

Result<> exchange_part(const std::string& directory, const std::string& copy, const std::string& part) {
  const std::string fresh = copy + "/" + part, current = directory + "/" + part, old = copy + "/" + part + ".old";
  if (!exists(fresh)) return {};
  if (exists(current)) {
    if (Result<> moved = move_path(current, old); !moved) return moved;
  }
  if (Result<> moved = move_path(fresh, current); !moved) return moved;
  if (Result<> synced = sync_path(copy); !synced) return synced;
  return sync_path(directory);
}

}  // namespace

std::string purge_path(const std::string& directory) {
  return directory + "/purge";
}

Result<PurgeLock> PurgeLock::acquire(const std::string& directory) {
  Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.open()) return invalid("cannot open the data directory " + directory);
  if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) {
    return unavailable("a purge of " + directory + " is under way; try again when it has ended");
  }
  return PurgeLock(std::move(opened));
}

Result<> finish_exchange(const std::string& directory) {
  const std::string copy = purge_path(directory);
  if (Result<> removed = remove_tree(RepairTarget::unfinished(copy)); !removed) return removed;
  if (!exists(copy)) return {};
  if (is_outdated(directory, copy)) {
    log_warning(copy + " was made of data that has changed since; it is removed, and the purge must be repeated");
    return remove_tree(copy);
  }
  for (const char* part : kExchangedParts) {
    if (Result<> exchanged = exchange_part(directory, copy, part); !exchanged) return exchanged;
  }
  if (Result<> removed = remove_tree(copy); !removed) return removed;
  return sync_path(directory);
}

Result<> complete_purge(const std::string& directory) {
  const std::string copy = purge_path(directory);
  if (!exists(copy) && !exists(RepairTarget::unfinished(copy))) return {};
  Result<PurgeLock> lock = PurgeLock::acquire(directory);
  return lock ? finish_exchange(directory) : Result<>(lock.error());
}

}  // namespace fathom::store
