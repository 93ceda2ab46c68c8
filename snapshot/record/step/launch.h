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

struct LaunchOptions {
  // Sets LD_BIND_NOW=1 unless the environment has that variable. Then the dynamic linker resolves all functions before
  // main(), and not in their first calls, which may be recorded.
  bool bind_now = false;
};

// True if commands get LD_BIND_NOW=1: `options` requests it, and the recorder's environment lacks the variable.
bool binds_now(LaunchOptions options);

// The returned process runs towards its exec(), which stops it.
Result<pid_t> launch_seized(const std::vector<std::string>& command, LaunchOptions options = {});

}  // namespace fathom::snapshot::step
