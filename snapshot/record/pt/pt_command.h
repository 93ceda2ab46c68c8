// Recording of a command from its first instruction to its end, by Intel PT.
//
// Purpose: the engine `pt` of `fathom record`: the command is started, held until its recording is armed, and let go;
// when it ends, what the rings still hold becomes a snapshot. `options.filters` narrow it to functions. Thread safety:
// one thread. Errors: those of PtRecorder; kNotFound when the command cannot be started.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/record/pt/pt_recorder.h"

namespace fathom::snapshot {

struct PtCommandOutcome {
  TakenSnapshot taken;
  int wait_status = 0;  // as waitpid(2) has it
};

// `options.pids` is filled in. `interrupted` is asked ten times a second; true ends the command (SIGTERM).
Result<PtCommandOutcome> record_pt_command(PerfSystem& system, const SnapshotDirectory& directory, PtOptions options,
                                           const std::vector<std::string>& command,
                                           const std::function<bool()>& interrupted = {});

}  // namespace fathom::snapshot
