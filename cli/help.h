// The text of --help, made from the same tables that the parser reads.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"

namespace fathom::cli {

std::string command_help(const CommandLine& line);

// Of a command that has commands of its own.
std::string group_help(const CommandLine& line, const std::vector<CommandLine>& parts);

// Breaks `text` at blanks into lines of at most `width` columns, each after the first with `indent` blanks before it.
std::string wrap(const std::string& text, size_t width, size_t indent);

}  // namespace fathom::cli
