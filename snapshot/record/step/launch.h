// Starts a command that waits, seized, for its tracer, before the program itself begins.
//
// Thread safety: one thread, which is the tracer. Ownership: the caller reaps it. Errors: what exec() says comes as the
// command's end with status 127, after a line on standard error, as shells have it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::snapshot::step {

// The returned process runs towards its exec(), which stops it.
Result<pid_t> launch_seized(const std::vector<std::string>& command);

}  // namespace fathom::snapshot::step
