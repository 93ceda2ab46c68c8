// A listening unix socket at a path: its directory made (that one, none above it), a dead agent's socket replaced, a
// living one's respected.
//
// Thread safety: pure, but for the file system. Errors: kInvalid for a path that cannot be, kUnavailable when another
// agent answers there, both with a way out; kInternal with the system's words.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::agent {

Result<Fd> bind_seqpacket(const std::string& path, uint32_t mode);
Result<> connect_seqpacket(int socket, const std::string& path);

}  // namespace fathom::agent
