// Who is at the other end of a unix socket, as the kernel says.
#pragma once

#include <sys/types.h>

#include <optional>

namespace fathom::agent {

struct Peer {
  uid_t uid = 0;
  pid_t pid = 0;  // in our namespace; 0: not visible there
};

std::optional<Peer> peer_of(int socket);

}  // namespace fathom::agent
