// When nothing matches: which of the names that were asked for nobody has, and which ones there are.
//
// Purpose: whoever mistyped a service, an operation or an attribute is not left to guess whether there was nothing to
// find. Thread safety: one thread, as Api. Errors: none; what the server does not answer is not said. Everything has
// gone through printable().
#pragma once

#include <string>

#include "cli/api.h"
#include "cli/args.h"
#include "cli/context.h"

namespace fathom::cli {

// A line each for --service, --operation and the --where's, as far as `args` have them and nobody has what they say in
// their range of time.
std::string unknown_names(const Api& api, const Args& args, const Context& context);

}  // namespace fathom::cli
