// The command lines of `fathom store verify`, `repair` and `purge`, which `fathom-store` understands as well: the
// one runs the other.
//
// Thread safety: pure functions. Errors: those of the parser.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"

namespace fathom::cli {

// `program`: "fathom store" or "fathom-store".
CommandLine store_group_line(const std::string& program);
CommandLine store_verify_line(const std::string& program);
CommandLine store_repair_line(const std::string& program);
CommandLine store_purge_line(const std::string& program);
// The words that say the same once more, for the program that does it.
std::vector<std::string> store_words(const Args& args, const CommandLine& line, const std::string& verb);

}  // namespace fathom::cli
