// Whether a port of this host is taken.
//
// Thread safety: pure functions, but for a look at the host.
#pragma once

#include <string>

namespace fathom::cli {

// Whether somebody listens at HOST:PORT already. Addresses that are not plain IPv4 are not judged: false.
bool is_taken(const std::string& address);

}  // namespace fathom::cli
