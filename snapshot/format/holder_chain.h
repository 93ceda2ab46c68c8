// holder_chain(): whom the holder of a lock waits for itself, and so on to a thread that waits for no lock.
//
// Purpose: the holder of the lock that a request waited for may be a victim itself; who explains the wait is at the end
// of the chain. Each link is what the holder did for most of the time in which the one before it waited. Thread safety:
// pure functions. Errors: none; a chain has kMostHolderLinks links at most. Work: one pass over the rows of each of its
// threads. Limits: a lock may be handed on while somebody sleeps for it, which no row tells; so a chain that leads back
// to itself is a deadlock only where none of its threads was seen to get on.
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
  std::string holder_name;  // empty: not known
  std::string lock;         // "mutex"
  uint64_t address = 0;
};

struct HolderChain {
  std::vector<HolderLink> links;  // the holder waits for the first link's, that one for the second's, ...
  std::string system_call;        // in which the last one mostly was: "fsync"; empty: it ran, or nothing tells
  bool is_deadlock = false;       // the last link's holder is one of the threads before it
  bool is_cut = false;            // there are more links
};

// `wait`: one of the rows of kLockWait; the chain begins behind its holder.
HolderChain holder_chain(const ThreadRows& rows, const Sideband& wait);

// The last of the links; `holder` where there is none.
int32_t end_of_chain(const HolderChain& chain, int32_t holder);

}  // namespace fathom::snapshot
