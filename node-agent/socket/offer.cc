#include "node-agent/socket/offer.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "node-agent/socket/credentials.h"

namespace fathom::agent {

namespace {

constexpr size_t kMostMessage = 256;  // later versions may say more than ours; it is cut and not read

std::vector<Fd> descriptors_of(msghdr& header) {
  std::vector<Fd> descriptors;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
      descriptors.emplace_back(number);
    }
  }
  return descriptors;
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

// Whether the process of a pidfd has not ended.
bool lives(const Fd& pidfd) {
  pollfd watched{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, 0) == 0;
}

// The number of a process that has ended may be another one's by now. A pidfd names the process itself: if that still
// lives after its number was looked up in /proc, the number was its own all the time.
ProcessId process_of_peer(int socket, pid_t pid) {
  const ProcessId process = identify_process(pid);
  int number = -1;
  socklen_t size = sizeof number;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &number, &size) == 0) {
    return lives(Fd(number)) ? process : ProcessId{};
  }
  return errno == ENOPROTOOPT ? process : ProcessId{};
}

}  // namespace

std::optional<Peer> peer_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  return Peer{credentials.uid, credentials.pid, process_of_peer(socket, credentials.pid)};
}

Received::Kind check_offer(std::string_view message, size_t descriptors, uint64_t& pool_bytes) {
  pool::Offer offer;
  if (message.size() < sizeof offer) return Received::Kind::kInvalid;
  std::memcpy(&offer, message.data(), sizeof offer);
  bool detail = offer.magic == pool::kDetailOfferMagic;
  if (offer.magic != pool::kSocketMagic && !detail) return Received::Kind::kInvalid;
  if (offer.version != pool::kSocketVersion) return Received::Kind::kVersion;
  if (descriptors != 1 || offer.pool_bytes == 0) return Received::Kind::kInvalid;
  pool_bytes = offer.pool_bytes;
  return detail ? Received::Kind::kDetailOffer : Received::Kind::kOffer;
}

Received receive_offer(int socket) {
  char message[kMostMessage];
  iovec into{message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(Received::kMostDescriptors * sizeof(int))];
  msghdr header{.msg_iov = &into, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t size = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {.kind = Received::Kind::kNothing};
  if (size < 0) return {.kind = Received::Kind::kEnd};
  std::vector<Fd> descriptors = descriptors_of(header);
  // A message of no bytes looks like the end, and ends it.
  if (size == 0)
    return {.kind = Received::Kind::kEnd, .pool_bytes = 0, .descriptor = {}, .unwanted = std::move(descriptors)};
  Received received;
  received.kind = (header.msg_flags & MSG_CTRUNC) != 0
                      ? Received::Kind::kInvalid
                      : check_offer({message, static_cast<size_t>(size)}, descriptors.size(), received.pool_bytes);
  if (received.is_offer()) {
    received.descriptor = std::move(descriptors.front());
  } else {
    received.unwanted = std::move(descriptors);
  }
  return received;
}

}  // namespace fathom::agent
