#include "client/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "client/platform.h"

namespace fathom::client {
namespace {

// Version 0: not known; odd: being written. Nodes keep their id, so this is written once in the life of most programs.
struct KnownNode {
  std::atomic<uint32_t> version{0};
  std::atomic<uint64_t> words[2];
};
constinit KnownNode known_node;

void remember_node(const uint8_t id[16]) {
  uint64_t words[2];
  std::memcpy(words, id, sizeof words);
  if (words[0] == 0 && words[1] == 0) return;
  const uint32_t version = known_node.version.load(std::memory_order_relaxed);
  known_node.version.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (int i = 0; i < 2; i++) known_node.words[i].store(words[i], std::memory_order_relaxed);
  known_node.version.store(version + 2, std::memory_order_release);
}

// A path, or "@name" in the kernel's own space of names.
socklen_t address_of(const char* path, sockaddr_un& address) {
  const size_t size = std::strlen(path);
  if (size == 0 || size >= sizeof address.sun_path) return 0;
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, size);
  if (path[0] == '@') address.sun_path[0] = '\0';
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size + (path[0] == '@' ? 0 : 1));
}

class Socket {
 public:
  explicit Socket(const char* path, int flags = 0) : fd_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0)) {
    sockaddr_un address;
    const socklen_t size = address_of(path, address);
    connected_ = fd_ >= 0 && size != 0 && connect(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0;
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool connected() const { return connected_; }
  bool send_with(const void* data, size_t size, int passed_fd);
  // The size of the next message, as much as fits; 0 or less when there will be none.
  ssize_t receive(void* data, size_t size) {
    ssize_t got;
    do {
      got = recv(fd_, data, size, 0);
    } while (got < 0 && errno == EINTR);
    return got;
  }

 private:
  int fd_;
  bool connected_ = false;
};

bool Socket::send_with(const void* data, size_t size, int passed_fd) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec bytes = {const_cast<void*>(data), size};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &passed_fd, sizeof passed_fd);
  return sendmsg(fd_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

void wait_for_end(Socket& socket) {
  char ignored[256];  // later agents may say more
  while (socket.receive(ignored, sizeof ignored) > 0) {
  }
}

bool send_offer(Socket& socket, int pool_fd, uint64_t pool_bytes) {
  const pool::Offer offered = {pool::kSocketMagic, pool::kSocketVersion, pool_bytes};
  return socket.send_with(&offered, sizeof offered, pool_fd);
}

Handover offer(Socket& socket, int pool_fd, uint64_t pool_bytes) {
  if (!send_offer(socket, pool_fd, pool_bytes)) return Handover::kNoAgent;
  pool::Answer answer = {};
  const ssize_t got = socket.receive(&answer, sizeof answer);
  if (got < static_cast<ssize_t>(sizeof answer) || answer.magic != pool::kSocketMagic) return Handover::kNoAgent;
  if (answer.verdict == pool::Verdict::kTooMany) return Handover::kLater;
  if (answer.verdict != pool::Verdict::kTaken) return Handover::kRefused;
  remember_node(answer.node_id);
  wait_for_end(socket);
  return Handover::kEnded;
}

}  // namespace

void offer_at_once(const char* const* paths, int pool_fd, uint64_t pool_bytes) {
  for (; *paths != nullptr; paths++) {
    Socket socket(*paths, SOCK_NONBLOCK);
    if (socket.connected() && send_offer(socket, pool_fd, pool_bytes)) return;
  }
}

Handover hand_over(const char* const* paths, int pool_fd, uint64_t pool_bytes) {
  for (; *paths != nullptr; paths++) {
    Socket socket(*paths);
    if (socket.connected()) return offer(socket, pool_fd, pool_bytes);
  }
  return Handover::kNoAgent;
}

bool nobody_takes(const char* const* paths) {
  const ErrnoKept errno_kept;
  uint8_t known[16];
  if (*paths != nullptr && node_id(known)) return false;
  for (; *paths != nullptr; paths++) {
    if (**paths == '@' || faccessat(AT_FDCWD, *paths, W_OK, AT_EACCESS) == 0) return false;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) return false;
  }
  return true;
}

bool node_id(uint8_t out[16]) {
  const uint32_t version = known_node.version.load(std::memory_order_acquire);
  if (version == 0 || version % 2 != 0) return false;
  uint64_t words[2];
  for (int i = 0; i < 2; i++) words[i] = known_node.words[i].load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (known_node.version.load(std::memory_order_relaxed) != version) return false;
  std::memcpy(out, words, sizeof words);
  return true;
}

}  // namespace fathom::client
