// FakeSupervisor: the supervisor's end of the descriptor store: an abstract socket that only one test knows.
//
// Thread safety: none. Ownership: of its socket.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include "base/fd.h"

namespace fathom::agent::testing {

class FakeSupervisor {
 public:
  FakeSupervisor() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un own{.sun_family = AF_UNIX};
    ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&own), sizeof own.sun_family);  // the kernel names it
    socklen_t size = sizeof own;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&own), &size);
    address_ = "@" + std::string(own.sun_path + 1, size - offsetof(sockaddr_un, sun_path) - 1);
  }
  const std::string& address() const { return address_; }
  void go_away() { socket_.close(); }

  struct Message {
    std::string text;
    Fd descriptor;
  };
  std::optional<Message> take() {
    char text[512];
    iovec into{text, sizeof text};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr header{.msg_iov = &into, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t size = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) return std::nullopt;
    Message message{std::string(text, static_cast<size_t>(size)), Fd()};
    if (cmsghdr* rights = CMSG_FIRSTHDR(&header); rights != nullptr) {
      int number;
      std::memcpy(&number, CMSG_DATA(rights), sizeof number);
      message.descriptor = Fd(number);
    }
    return message;
  }

 private:
  Fd socket_;
  std::string address_;
};

}  // namespace fathom::agent::testing
