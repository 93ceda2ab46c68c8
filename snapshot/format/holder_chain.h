// holder_chain(): follows the holder of a lock to the lock that it waits for itself, and so on.
//
// Purpose: the holder of the lock that a request waited for may wait, too; the last thread of the chain explains the
// wait. Each link is what the holder did for most of the previous thread's wait. Thread safety: pure functions. Errors:
// none; a chain has at most kMostHolderLinks links. Work: one pass over the rows of each of its threads. Limits: a lock
// may pass to another holder during a sleep, and no row shows that. So a chain that leads back to itself is a deadlock
// only if all its sleeps lasted until recording ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/format/thread_rows.h"

namespace fathom::snapshot {

inline constexpr size_t kMostHolderLinks = 16;

struct HolderLink {
  int32_t holder = -1;
  std::string holder_name;  // empty: unknown
  std::string lock;         // "mutex"
  uint64_t address = 0;
};

struct HolderChain {
  std::vector<HolderLink> links;  // the holder waits for the first link's lock, that link's holder for the next, ...
  std::string system_call;        // in which the last thread mostly was: "fsync"; empty: it ran, or no row shows it
  bool is_deadlock = false;       // the last link's holder is an earlier thread of the chain
  bool is_cut = false;            // the limit of links was reached
};

// `wait`: a kLockWait row; the chain begins after its holder.
HolderChain holder_chain(const ThreadRows& rows, const Sideband& wait);

// The last link's holder; `holder` if there are no links.
int32_t end_of_chain(const HolderChain& chain, int32_t holder);

}  // namespace fathom::snapshot
