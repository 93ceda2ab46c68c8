#include "cli/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "cli/fd.h"
#include "net/http_server.h"

namespace fathom::cli {

bool is_taken(const std::string& address) {
  auto split = net::split_address(address);
  if (!split) return false;
  sockaddr_in wanted{};
  wanted.sin_family = AF_INET;
  wanted.sin_port = htons(split->second);
  if (::inet_pton(AF_INET, split->first.c_str(), &wanted.sin_addr) != 1) return false;
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int yes = 1;  // as the server does: what lingers of a predecessor's connections does not count
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  return ::bind(socket.get(), reinterpret_cast<sockaddr*>(&wanted), sizeof wanted) != 0 && errno == EADDRINUSE;
}

}  // namespace fathom::cli
