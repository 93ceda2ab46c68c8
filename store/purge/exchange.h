// The exchange of a purged copy for the data that it was made from, which a crash may interrupt at any step.
//
// DIR/purge.unfinished is a copy that is being made or removed; it is removed when a purge or a server starts.
// DIR/purge is a complete and durable copy: its parts `store` and `captures` take the place of DIR/store and
// DIR/captures, which move to DIR/purge as `store.old` and `captures.old`, and all of DIR/purge is deleted at the end.
// A part that is no longer in DIR/purge is exchanged already. Thread safety: one process at a time, by PurgeLock.
// Errors: as the disk says; kUnavailable: another process holds the lock.
#pragma once

#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::store {

// The copy's final name, without `.unfinished`.
std::string purge_path(const std::string& directory);

// A lock on a data directory. A purge holds it from the first look at the directory to the end of the exchange, a
// server from complete_purge() until its store is open, tools while they read.
class PurgeLock {
 public:
  enum class Kind { kExclusive, kShared };
  static Result<PurgeLock> acquire(const std::string& directory, Kind kind = Kind::kExclusive);

 private:
  explicit PurgeLock(Fd directory) : directory_(std::move(directory)) {}
  Fd directory_;
};

enum class Exchange {
  kNothing,  // there was no complete copy
  kDone,
  kOutdated,  // the copy was made of data that a server has changed since; it is removed
};

// With the lock. Also removes an unfinished copy.
Result<Exchange> finish_exchange(const std::string& directory);

}  // namespace fathom::store
