// record_command(): runs a command, steps it where it is asked to, and leaves a snapshot.
//
// Purpose: the stepper's one door, for fathom-recorder and for tests. Thread safety: from the program's only thread;
// one at a time (it waits for all children, and takes SIGALRM and an interval timer). Ownership: `trigger` is the
// caller's. Errors: what keeps the command from being started, or the snapshot from being written. The command itself
// is never harmed: whatever happens here, it goes on.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/held_locks.h"
#include "snapshot/format/unkept_images.h"
#include "snapshot/record/step/stepper.h"

namespace fathom::snapshot::step {

struct StepRequest {
  std::vector<std::string> command;
  StepLimits limits;
  bool bind_now = false;       // as in LaunchOptions
  bool private_images = true;  // as in Recording::begin()
  StepObserver observer;
  // Called when the recording is over and its snapshot written, while the command still runs.
  std::function<void(const struct StepOutcome&)> written;
};

struct StepOutcome {
  std::optional<SnapshotId> id;  // none: no window ever began
  uint64_t instructions = 0;
  uint64_t threads = 0;
  uint64_t windows = 0;
  uint64_t calls = 0;    // of the function that windows begin with, as recorded
  uint64_t cut_off = 0;  // calls or spans that were still running when recording ended
  uint64_t gaps = 0;
  uint64_t packet_bytes = 0;
  double slowdown = 0;
  bool reached_limit = false;
  bool started = false;              // false: the command could not be executed
  std::optional<StepDeath> death;    // what killed a recorded process while it was recorded
  bool reached_main = true;          // or nobody knows; false: of a whole program, the beginning alone was recorded
  Id<16> trace_id;                   // of the span that a window began for; zero: for none
  UnkeptImages images;               // whose code will be gaps
  std::vector<HeldLock> locks;       // that recorded threads slept for when their window began
  std::optional<std::string> fault;  // why no window could begin
};

// Returns the command's wait status. SIGINT and SIGTERM end the recording; the latter is passed on.
Result<int> record_command(const SnapshotDirectory& directory, StepTrigger& trigger, const StepRequest& request);

}  // namespace fathom::snapshot::step
