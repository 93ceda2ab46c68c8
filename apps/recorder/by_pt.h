// fathom record by Intel PT: a command as a whole, or what a function or a span cuts out of it.
//
// Thread safety: one thread; it forks, and takes SIGINT and SIGTERM meanwhile. Errors: printed; the exit code is the
// command's where it ran.
#pragma once

#include <optional>
#include <string>

#include "apps/recorder/options.h"
#include "apps/recorder/report.h"
#include "snapshot/record/pt/perf_system.h"

namespace fathom {

// The program's exit status. Nothing: `auto` was asked for, Intel PT cannot be armed here, and the command has not run.
std::optional<int> record_by_pt(const RecorderOptions& options, const ReportFile& file, snapshot::PerfSystem& system);
// What `fathom doctor --pt` reads.
std::string pt_doctor_answer();

}  // namespace fathom
