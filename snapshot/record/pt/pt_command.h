// Recording of a command by Intel PT: as a whole, or what a trigger cuts out of it.
//
// Purpose: the engine `pt` of `fathom record`: the command is started, held until its recording is armed, and let go;
// a trigger (pt_trigger.h) says when the rings become a snapshot. Behind the last one nothing is armed any more, and
// the command runs on at its own speed. `options.filters` narrow what is recorded. Thread safety: one thread, which
// forks; it may set FATHOM_PTWRITE in this process's environment, for the command to inherit. Errors: those of
// PtRecorder, and then the command has not run; kNotFound when it cannot be started. Once it runs it is never harmed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/record/pt/pt_recorder.h"
#include "snapshot/record/pt/pt_trigger.h"

namespace fathom::snapshot {

struct PtCommandRequest {
  std::vector<std::string> command;
  PtOptions options;     // `pids` and `command` are filled in; `ptwrite`, where the processor has it
  uint64_t windows = 1;  // so many snapshots, then the command runs unrecorded
  // It is armed, and about to run.
  std::function<void()> armed;
  // While the command still runs, unless it has ended.
  std::function<void(const TakenSnapshot&)> taken;
  // Behind the last one, when nothing is armed any more; the command may still run.
  std::function<void(const std::vector<TakenSnapshot>&)> over;
  // Asked ten times a second: a signal that ends the recording, or 0. SIGTERM is passed on to the command.
  std::function<int()> interrupted;
};

struct PtCommandOutcome {
  std::vector<TakenSnapshot> taken;
  std::optional<std::string> fault;  // why there is none
  int wait_status = 0;               // as waitpid(2) has it
};

Result<PtCommandOutcome> record_pt_command(PerfSystem& system, const SnapshotDirectory& directory, PtTrigger& trigger,
                                           PtCommandRequest request);

}  // namespace fathom::snapshot
