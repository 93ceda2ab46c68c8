// The commands of `fathom snapshot`.
#pragma once

#include <vector>

#include "cli/command.h"

namespace fathom::cli {

const Command& snapshot_list_command();
// import, list, export, remove
std::vector<const Command*> snapshot_file_commands();
// insns, calls, functions, delta, syscalls, sunburst, diff, stats
std::vector<const Command*> snapshot_question_commands();

}  // namespace fathom::cli
