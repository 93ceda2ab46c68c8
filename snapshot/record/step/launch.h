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
  // LD_BIND_NOW=1 in its environment, unless that has the name: the dynamic linker looks up functions before the
  // program begins, and not at their first calls, which may be recorded.
  bool bind_now = false;
};

// Whether commands get LD_BIND_NOW=1: it is asked for, and our own environment has no value.
bool binds_now(LaunchOptions options);

// The returned process runs towards its exec(), which stops it.
Result<pid_t> launch_seized(const std::vector<std::string>& command, LaunchOptions options = {});

}  // namespace fathom::snapshot::step
