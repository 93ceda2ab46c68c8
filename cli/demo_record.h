// The demo's last act: one slow request of a second shop, down to its instructions.
//
// Purpose: shows the whole way down on any machine: `fathom record` waits until a request waits for the shelves' lock,
// records what every thread does meanwhile, and the server gets the snapshot. Thread safety: none. Errors: kCancelled
// when a signal came; kUnavailable with the recorder's own words where this host cannot: the demo goes on without.
#pragma once

#include <cstdint>
#include <string>

#include "cli/addresses.h"
#include "cli/context.h"
#include "cli/demo_stage.h"

namespace fathom::cli {

struct RecordedRequest {
  std::string snapshot_id;
  std::string trace_id;     // empty: not told
  std::string lock_holder;  // the thread; empty: nobody waited for a lock
  std::string directory;    // of the snapshot
  uint64_t instructions = 0;
};

Result<RecordedRequest> record_request(DemoStage& stage, const Addresses& addresses, const Context& context);

// What was recorded: who held the lock, and in which calls.
Result<> show_recorded(const RecordedRequest& recorded, const Context& context);

}  // namespace fathom::cli
