#include "client/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
  // Whether there is a message, or the end, within this time; negative: for ever.
  bool readable(int timeout_ms) const {
    pollfd wanted = {fd_, POLLIN, 0};
    return poll(&wanted, 1, timeout_ms) > 0;
  }
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

bool send_offer(Socket& socket, uint32_t magic, int pool_fd, uint64_t pool_bytes) {
  const pool::Offer offered = {magic, pool::kSocketVersion, pool_bytes};
  return socket.send_with(&offered, sizeof offered, pool_fd);
}

// ---- a connection on which the span pool was taken -----------------------------------------------------------------

// Whoever makes the detail pool offers it at once. This is for agents that come later, or had no room: there is time,
// and each look costs a processor its sleep.
constexpr int kLookMs = 1000;
constexpr int kAgainMs = 10'000;  // after the agent said that it has no room

// Where the detail pool is on its way over this connection.
class DetailOffer {
 public:
  DetailOffer(Socket& socket, const Handed& handed, bool wanted)
      : socket_(socket), handed_(handed), pause_ms_(wanted && handed.detail_fd >= 0 ? kLookMs : kNever) {}

  // How long until go_on() has something to do.
  int pause_ms() const { return pause_ms_; }
  void go_on() {
    if (pause_ms_ == kNever) return;
    pause_ms_ = kLookMs;
    if (!handed_.is_detail_there(handed_.detail_fd)) return;
    pause_ms_ = kNever;
    (void)send_offer(socket_, pool::kDetailOfferMagic, handed_.detail_fd, handed_.detail_bytes);
  }
  void answered(pool::Verdict verdict) {
    if (verdict == pool::Verdict::kTooMany) pause_ms_ = kAgainMs;
  }

 private:
  static constexpr int kNever = -1;

  Socket& socket_;
  const Handed& handed_;
  int pause_ms_;
};

void obey_tracepoints(const Handed& handed, std::string_view message) {
  pool::TracepointsMessage head;
  if (handed.switch_tracepoints == nullptr || message.size() < sizeof head) return;
  std::memcpy(&head, message.data(), sizeof head);
  const std::string_view rest = part(message, sizeof head);
  if (head.version != pool::kSocketVersion || head.bytes > rest.size()) return;
  handed.switch_tracepoints(part(rest, 0, head.bytes));
}

void obey(const Handed& handed, DetailOffer& detail, std::string_view message) {
  uint32_t magic = 0;
  if (message.size() >= sizeof magic) std::memcpy(&magic, message.data(), sizeof magic);
  if (magic == pool::kTracepointsMagic) return obey_tracepoints(handed, message);
  if (magic != pool::kSocketMagic || message.size() < sizeof(pool::Answer)) return;  // later agents may say more
  pool::Answer answer;
  std::memcpy(&answer, message.data(), sizeof answer);
  detail.answered(answer.verdict);
}

void stay(Socket& socket, const Handed& handed, uint32_t abilities) {
  char message[sizeof(pool::TracepointsMessage) + pool::kMostPatternBytes];
  if ((abilities & pool::kTracepointsFollow) == 0 && handed.switch_tracepoints != nullptr) {
    handed.switch_tracepoints({});
  }
  DetailOffer detail(socket, handed, (abilities & pool::kTakesDetail) != 0);
  detail.go_on();
  for (;;) {
    if (!socket.readable(detail.pause_ms())) {
      detail.go_on();
      continue;
    }
    const ssize_t size = socket.receive(message, sizeof message);
    if (size <= 0) return;
    obey(handed, detail, {message, static_cast<size_t>(size)});
  }
}

Handover offer(Socket& socket, const Handed& handed) {
  if (!send_offer(socket, pool::kSocketMagic, handed.pool_fd, handed.pool_bytes)) return Handover::kNoAgent;
  pool::Answer answer = {};
  const ssize_t got = socket.receive(&answer, sizeof answer);
  if (got < static_cast<ssize_t>(sizeof answer) || answer.magic != pool::kSocketMagic) return Handover::kNoAgent;
  if (answer.verdict == pool::Verdict::kTooMany) return Handover::kLater;
  if (answer.verdict != pool::Verdict::kTaken) return Handover::kRefused;
  remember_node(answer.node_id);
  stay(socket, handed, answer.abilities);
  return Handover::kEnded;
}

}  // namespace

void offer_at_once(const char* const* paths, uint32_t magic, int pool_fd, uint64_t pool_bytes) {
  for (; *paths != nullptr; paths++) {
    Socket socket(*paths, SOCK_NONBLOCK);
    if (socket.connected() && send_offer(socket, magic, pool_fd, pool_bytes)) return;
  }
}

Handover hand_over(const char* const* paths, const Handed& handed) {
  for (; *paths != nullptr; paths++) {
    Socket socket(*paths);
    if (socket.connected()) return offer(socket, handed);
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
