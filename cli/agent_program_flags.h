// The flags of the program fathom-agent, which are the keys of its configuration file, too (cli/server_flags.h has
// those that `fathom up` hands on to it).
//
// Purpose: here, and not with the program, because a server says by them what was written into the wrong file.
// Thread safety: a plain function.
#pragma once

#include <vector>

#include "cli/args.h"

namespace fathom::cli {

std::vector<Flag> agent_program_flags();
// What `fathom up` hands on to its agent as it is.
Flag pt_all_users_flag();
Flag pt_private_images_flag();
// --kernel-events-memory, --slowest-period, --slowest-memory: a part of the above, and of agent_flags() of
// server_flags.h.
std::vector<Flag> slow_request_flags();

}  // namespace fathom::cli
