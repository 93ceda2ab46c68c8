// Command: one subcommand: its table of flags, and what it does.
//
// Thread safety: run on one thread. Errors: commands print what went wrong to `err` and return the exit code.
#pragma once

#include "cli/args.h"
#include "cli/context.h"
#include "cli/exit_codes.h"

namespace fathom::cli {

struct Command {
  CommandLine line;
  ExitCode (*run)(const Args& args, const Context& context);
  // A command that has commands of its own, and no `run`: 'fathom snapshot calls'.
  std::vector<const Command*> parts = {};
};

const Command& up_command();
const Command& slowest_command();
const Command& trace_command();
const Command& timeline_command();
const Command& captures_command();
const Command& export_command();
const Command& services_command();
const Command& latency_command();
const Command& nodes_command();
const Command& page_command();
const Command& capture_command();
const Command& tracepoints_command();
const Command& snapshot_command();
const Command& record_command();
const Command& purge_command();
const Command& store_command();
const Command& doctor_command();
const Command& demo_command();

// Says what went wrong, and returns its exit code.
inline ExitCode failed(const Context& context, const Error& error) {
  context.fail(error.message);
  return exit_code_of(error);
}

// For failures of this host, which no server has a part in.
inline ExitCode failed_here(const Context& context, const Error& error) {
  context.fail(error.message);
  return ExitCode::kLocalFailure;
}

}  // namespace fathom::cli
