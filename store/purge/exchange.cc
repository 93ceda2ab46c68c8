#include "store/purge/exchange.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
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

// What cannot be looked at counts as an error, never as missing.
Result<bool> exists(const std::string& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) == 0) return true;
  if (errno == ENOENT) return false;
  return unavailable("cannot look at " + path + ": " + std::strerror(errno));
}

Result<> move_path(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? Result<>(unavailable("cannot rename " + from + " to " + to + ": " + error.message())) : Result<>();
}

Result<> remove_unfinished(const std::string& directory) {
  const std::string path = RepairTarget::unfinished(purge_path(directory));
  std::error_code error;
  fs::remove_all(path, error);
  return error ? Result<>(unavailable("cannot remove " + path + ": " + error.message())) : Result<>();
}

// Under the name of an unfinished copy, so that half of it is never taken for a complete one.
Result<> remove_copy(const std::string& directory) {
  const std::string copy = purge_path(directory);
  if (Result<> moved = move_path(copy, RepairTarget::unfinished(copy)); !moved) return moved;
  if (Result<> synced = sync_path(directory); !synced) return synced;
  if (Result<> removed = remove_unfinished(directory); !removed) return removed;
  return sync_path(directory);
}

// Nothing has been exchanged yet, and a server has used the directory since the copy was made. The directory may have
// been moved meanwhile.
Result<bool> is_outdated(const std::string& directory, const std::string& copy) {
  const Result<bool> has_fresh = exists(copy + "/store"), has_current = exists(directory + "/store");
  if (!has_fresh || !has_current) return has_fresh ? has_current : has_fresh;
  if (!*has_fresh || !*has_current) return false;
  const Result<RepairMark> mark = RepairMark::read(copy);
  return !mark || !mark->source.files || mark->source.files != repair_source(directory).files;
}

Result<> exchange_part(const std::string& directory, const std::string& copy, const std::string& part) {
  const std::string fresh = copy + "/" + part, current = directory + "/" + part, old = copy + "/" + part + ".old";
  const Result<bool> has_fresh = exists(fresh), has_current = exists(current);
  if (!has_fresh || !has_current) return has_fresh ? has_current.error() : has_fresh.error();
  if (!*has_fresh) return {};
  if (*has_current) {
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

Result<PurgeLock> PurgeLock::acquire(const std::string& directory, Kind kind) {
  Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.open()) return invalid("cannot open the data directory " + directory);
  const int how = kind == Kind::kExclusive ? LOCK_EX : LOCK_SH;
  if (::flock(opened.get(), how | LOCK_NB) != 0) {
    return unavailable(directory + " is being purged, or a server starts on it; try again when that has ended");
  }
  return PurgeLock(std::move(opened));
}

Result<Exchange> finish_exchange(const std::string& directory) {
  const std::string copy = purge_path(directory);
  if (Result<> removed = remove_unfinished(directory); !removed) return removed.error();
  const Result<bool> has_copy = exists(copy);
  if (!has_copy) return has_copy.error();
  if (!*has_copy) return Exchange::kNothing;
  const Result<bool> outdated = is_outdated(directory, copy);
  if (!outdated) return outdated.error();
  if (*outdated) {
    log_warning(copy + " was made of data that has changed since; it is removed, and the purge must be repeated");
    const Result<> removed = remove_copy(directory);
    return removed ? Result<Exchange>(Exchange::kOutdated) : removed.error();
  }
  for (const char* part : kExchangedParts) {
    if (Result<> exchanged = exchange_part(directory, copy, part); !exchanged) return exchanged.error();
  }
  const Result<> removed = remove_copy(directory);
  return removed ? Result<Exchange>(Exchange::kDone) : removed.error();
}

Result<std::optional<PurgeLock>> complete_purge(const std::string& directory) {
  const Result<bool> is_there = exists(directory);
  if (!is_there) return is_there.error();
  if (!*is_there) return std::optional<PurgeLock>();
  Result<PurgeLock> lock = PurgeLock::acquire(directory);
  if (!lock) return lock.error();
  const Result<Exchange> finished = finish_exchange(directory);
  return finished ? Result<std::optional<PurgeLock>>(*std::move(lock)) : finished.error();
}

}  // namespace fathom::store
