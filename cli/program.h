// The command line as a whole: which subcommand, its help, its exit code.
//
// Thread safety: one run at a time.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/exit_codes.h"

namespace fathom::cli {

inline constexpr const char* kVersion = FATHOM_VERSION;

// `words`: what follows the program's name.
ExitCode run_program(const std::vector<std::string>& words, const Context& context);

}  // namespace fathom::cli
