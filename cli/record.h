// The command line of `fathom record`, which `fathom-recorder` understands as well: the one runs the other.
//
// Thread safety: pure functions. Errors: those of the parser.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"

namespace fathom::cli {

const CommandLine& record_line();
// The words that say the same once more, for the program that does it.
std::vector<std::string> record_words(const Args& args);

}  // namespace fathom::cli
