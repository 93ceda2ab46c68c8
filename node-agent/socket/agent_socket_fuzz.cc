// A message on the agent's socket with any number of descriptors: taken only when it is an offer with exactly one; no
// descriptor stays open that nobody owns.
//
// Input: a byte that says how many descriptors come along, then the message.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "node-agent/socket/offer.h"

namespace {

void send_message(int socket, const char* message, size_t size, int file, size_t descriptors) {
  iovec text{const_cast<char*>(message), size};
  alignas(cmsghdr) char control[CMSG_SPACE(fathom::agent::Received::kMostDescriptors * sizeof(int))] = {};
  msghdr header{.msg_iov = &text, .msg_iovlen = 1};
  if (descriptors > 0) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
    for (size_t i = 0; i < descriptors; ++i) std::memcpy(CMSG_DATA(rights) + i * sizeof file, &file, sizeof file);
  }
  if (::sendmsg(socket, &header, MSG_NOSIGNAL) < 0) std::abort();
}

// Descriptors are given out from the lowest: an open one that nobody owns would raise the next.
int next_descriptor() {
  int number = ::fcntl(0, F_DUPFD, 0);
  ::close(number);
  return number;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom;
  if (size < 1 || size > 4096) return 0;
  static int file = ::memfd_create("offered", MFD_CLOEXEC);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
  Fd sender(ends[0]);
  Fd receiver(ends[1]);
  size_t descriptors = data[0] % (agent::Received::kMostDescriptors + 1);
  send_message(sender.get(), reinterpret_cast<const char*>(data) + 1, size - 1, file, descriptors);
  int before = next_descriptor();
  {
    agent::Received received = agent::receive_offer(receiver.get());
    bool taken = received.is_offer();
    if (taken && (descriptors != 1 || !received.descriptor.open() || received.pool_bytes == 0)) std::abort();
    if (!taken && received.descriptor.open()) std::abort();
  }
  if (next_descriptor() != before) std::abort();
  if (agent::receive_offer(receiver.get()).kind != agent::Received::Kind::kNothing) std::abort();
  return 0;
}
