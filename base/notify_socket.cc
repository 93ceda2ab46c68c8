#include "base/notify_socket.h"

#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace fathom {

namespace {

constexpr const char* kVariable = "NOTIFY_SOCKET";

bool is_usable(std::string_view address) {
  return address.size() > 1 && address.size() < sizeof sockaddr_un::sun_path &&
         (address[0] == '/' || address[0] == '@');
}

}  // namespace

NotifySocket::NotifySocket(std::string_view address) {
  if (!is_usable(address)) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address.data(), address.size());
  if (address[0] == '@') to.sun_path[0] = '\0';
  size_t path_bytes = address.size() + (address[0] == '/' ? 1 : 0);
  address_.assign(reinterpret_cast<const char*>(&to), offsetof(sockaddr_un, sun_path) + path_bytes);
  socket_ = Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

NotifySocket NotifySocket::of_environment() {
  const char* value = std::getenv(kVariable);
  NotifySocket socket(value == nullptr ? "" : value);
  ::unsetenv(kVariable);
  return socket;
}

bool NotifySocket::say(std::string_view lines) {
  if (!open()) return false;
  iovec text{const_cast<char*>(lines.data()), lines.size()};
  ssize_t sent = 0;
  do {
    sent = send({.msg_iov = &text, .msg_iovlen = 1}, 0);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

ssize_t NotifySocket::send(msghdr header, int flags) {
  header.msg_name = address_.data();
  header.msg_namelen = static_cast<socklen_t>(address_.size());
  return ::sendmsg(socket_.get(), &header, flags | MSG_NOSIGNAL);
}

}  // namespace fathom
