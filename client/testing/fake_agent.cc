#include "client/testing/fake_agent.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace fathom::client::testing {
namespace {

bool readable(int fd, int timeout_ms) {
  pollfd wanted = {fd, POLLIN, 0};
  return poll(&wanted, 1, timeout_ms) == 1;
}

int passed_fd(msghdr& message) {
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return -1;
  int fd;
  std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
  return fd;
}

bool receive_offer(int connection, int timeout_ms, Offered& offered) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec bytes = {&offered.offer, sizeof offered.offer};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (!readable(connection, timeout_ms)) return false;
  if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != sizeof offered.offer) return false;
  offered.pool = OwnedFd(passed_fd(message));
  struct stat file = {};
  fstat(offered.pool.get(), &file);
  offered.inode = file.st_ino;
  return true;
}

std::string own_name() {
  static std::atomic<int> count{0};
  return "@fathom-test-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) ::close(fd_);
}
OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

bool Offered::answer(pool::Verdict verdict, const std::string& node_id, uint32_t abilities) const {
  pool::Answer answer = {pool::kSocketMagic, 1, verdict, abilities, {}};
  std::memcpy(answer.node_id, node_id.data(), std::min(node_id.size(), sizeof answer.node_id));
  return send(connection.get(), &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer;
}

std::optional<Offered> Offered::next_offer(int timeout_ms) const {
  Offered next;
  if (!receive_offer(connection.get(), timeout_ms, next)) return std::nullopt;
  return next;
}

bool Offered::say_tracepoints(const std::string& patterns) const {
  const pool::TracepointsMessage head = {pool::kTracepointsMagic, 1, static_cast<uint32_t>(patterns.size()), 0};
  const std::string message = std::string(reinterpret_cast<const char*>(&head), sizeof head) + patterns;
  return send(connection.get(), message.data(), message.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

bool Offered::wait_for_end(int timeout_ms) const {
  char byte;
  return readable(connection.get(), timeout_ms) && recv(connection.get(), &byte, 1, 0) <= 0;
}

FakeAgent::FakeAgent() : FakeAgent(own_name()) {}
FakeAgent::FakeAgent(std::string path) : path_(std::move(path)) {
  listen();
}

void FakeAgent::close() {
  if (socket_.ok() && path_[0] != '@') unlink(path_.c_str());
  socket_ = OwnedFd();
}

void FakeAgent::listen() {
  socket_ = OwnedFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  if (path_[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
  if (bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
  if (::listen(socket_.get(), 64) != 0) std::abort();
}

std::optional<Offered> FakeAgent::accept(int timeout_ms) {
  while (readable(socket_.get(), timeout_ms)) {
    Offered offered;
    offered.connection = OwnedFd(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (receive_offer(offered.connection.get(), timeout_ms, offered)) return offered;
  }
  return std::nullopt;
}

}  // namespace fathom::client::testing
