// fathom record by Intel PT: a command from its first instruction to its end, or what the rings keep of that.
//
// Thread safety: one thread; it forks. Errors: printed; the exit code is the command's where it ran.
#pragma once

#include <string>

#include "apps/recorder/options.h"

namespace fathom {

// The program's exit status.
int record_by_pt(const RecorderOptions& options);
// What `fathom doctor --pt` reads.
std::string pt_doctor_answer();

}  // namespace fathom
