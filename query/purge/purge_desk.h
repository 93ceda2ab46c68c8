// PurgeDesk: takes one request for a purge, and tells what becomes of it.
//
// Purpose: the store must be closed during a purge, so the program performs it, and the desk outlives the query server
// that took the request. wait_descriptor() becomes readable with a request; then the program stops its server, calls
// take(), purges, calls finish(), and starts its server again. Conditions are not kept afterwards: they say what must
// not be stored. Thread safety: all of it. Ownership: of its descriptor. Errors: ask(): kUnavailable, if a purge is
// under way.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "query/purge/purge_data.h"

namespace fathom::query {

enum class PurgeState : uint8_t { kNone, kRunning, kDone, kFailed };
const char* name_of(PurgeState state);

struct PurgeStatus {
  std::string id;  // empty: none was asked for
  PurgeState state = PurgeState::kNone;
  PurgeCounts counts;  // of kDone
  std::string error;   // of kFailed
  uint64_t began_unix_nano = 0;
  uint64_t ended_unix_nano = 0;  // 0: not yet
};

class PurgeDesk {
 public:
  PurgeDesk();

  // Returns the id of the purge, which begins later.
  Result<std::string> ask(std::vector<store::Condition> where);
  PurgeStatus status() const;

  // ---- for the program
  int wait_descriptor() const { return event_.get(); }
  std::vector<store::Condition> take();
  void finish(const Result<PurgeCounts>& result);

 private:
  mutable std::mutex mutex_;
  Fd event_;
  std::vector<store::Condition> where_;
  PurgeStatus status_;
};

std::string to_json(const PurgeStatus& status);

}  // namespace fathom::query
