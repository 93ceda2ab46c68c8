// Talking to an agent's socket as a program does, step by step. Thread safety: plain values.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "client/pool/layout.h"
#include "node-agent/socket/bind.h"

namespace fathom::agent::testing {

class SocketClient {
 public:
  explicit SocketClient(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    connected_ = connect_seqpacket(socket_.get(), path).ok();
  }

  bool connected() const { return connected_; }
  int descriptor() const { return socket_.get(); }
  void close() { socket_.close(); }

  bool send(std::string_view message, const std::vector<int>& descriptors = {}) const {
    iovec text{const_cast<char*>(message.data()), message.size()};
    std::vector<char> control(CMSG_SPACE(descriptors.size() * sizeof(int)));
    msghdr header{.msg_iov = &text, .msg_iovlen = 1};
    if (!descriptors.empty()) {
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size() * sizeof(int));
    }
    return ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
  }
  bool offer(uint64_t pool_bytes, int descriptor, uint32_t magic = pool::kSocketMagic) const {
    pool::Offer offer{magic, pool::kSocketVersion, pool_bytes};
    return send({reinterpret_cast<const char*>(&offer), sizeof offer}, {descriptor});
  }
  // The answer, when it is there.
  std::optional<pool::Answer> answer() const {
    pool::Answer answer{};
    ssize_t size = ::recv(socket_.get(), &answer, sizeof answer, MSG_DONTWAIT);
    if (size != static_cast<ssize_t>(sizeof answer)) return std::nullopt;
    return answer;
  }
  // The patterns that the agent says, when they are there.
  std::optional<std::string> tracepoints() const {
    char bytes[sizeof(pool::TracepointsMessage) + pool::kMostPatternBytes];
    ssize_t size = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    pool::TracepointsMessage head{};
    if (size < static_cast<ssize_t>(sizeof head)) return std::nullopt;
    std::memcpy(&head, bytes, sizeof head);
    bool fits = head.magic == pool::kTracepointsMagic && head.bytes == static_cast<size_t>(size) - sizeof head;
    return fits ? std::optional(std::string(bytes + sizeof head, head.bytes)) : std::nullopt;
  }
  // Whether the agent has ended the connection, and all it said before was read.
  bool ended() const {
    char byte;
    return ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0 || errno == ECONNRESET;
  }

 private:
  Fd socket_;
  bool connected_ = false;
};

}  // namespace fathom::agent::testing
