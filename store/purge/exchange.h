// The exchange of a purged copy for the data that it was made from, which a crash may interrupt at any step.
//
// DIR/purge.unfinished is a copy that is being made; it is removed when a purge or a server starts. DIR/purge is a
// complete and durable copy: its parts `store` and `captures` take the place of DIR/store and DIR/captures, which move
// to DIR/purge as `store.old` and `captures.old`, and all of DIR/purge is deleted at the end. A part that is no longer
// in DIR/purge is exchanged already. Thread safety: one process at a time, by a lock on DIR. Errors: as the disk says;
// kUnavailable: another process holds the lock.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::store {

// The copy's final name, without `.unfinished`.
std::string purge_path(const std::string& directory);

// Held during a purge, from the first look at the directory to the end of the exchange.
class PurgeLock {
 public:
  static Result<PurgeLock> acquire(const std::string& directory);

 private:
  explicit PurgeLock(Fd directory) : directory_(std::move(directory)) {}
  Fd directory_;
};

// With the lock. Nothing to do: fine. A copy of data that a server has changed since is removed.
Result<> finish_exchange(const std::string& directory);

}  // namespace fathom::store
