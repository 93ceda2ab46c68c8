// FdStore: descriptors that outlive this process, kept by whoever supervises it: systemd, or `fathom up`.
//
// Purpose: a program's pool must still be here after the agent was started again, also when the program is not. The
// protocol is that of sd_notify(3) ("FDSTORE=1", "FDNAME=...", "FDSTOREREMOVE=1") and sd_listen_fds(3), written anew:
// two environment variables and a datagram. Without a supervisor nothing is kept, and nothing fails. Thread safety:
// none, belongs to the agent's loop; never waits: what the supervisor's queue has no room for is sent by retry().
// Ownership: duplicates of descriptors that wait to be sent. Bounds: kMostNamesBytes of stored names, because the next
// start gets them as one variable of the environment, and a start with a longer one fails; kMostWaiting descriptors
// that wait. Errors: none; what is not stored, and therefore lost should this process die, is counted as
// fathom_agent_not_stored_total{reason}, what a supervisor that is gone does not get as
// fathom_agent_notify_failures_total.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/notify_socket.h"

namespace fathom::agent {

struct InheritedFd {
  std::string name;
  Fd descriptor;
};

// What the supervisor kept of our predecessor; once, at the start, before any thread. The variables are removed from
// the environment, so that no child takes them for its own.
std::vector<InheritedFd> take_inherited();

// Names that systemd takes: printable, without a colon, up to 255 bytes.
bool is_store_name(std::string_view name);

class FdStore {
 public:
  static constexpr size_t kMostNamesBytes = 120'000;  // the kernel takes a variable of 128 KiB
  static constexpr size_t kMostWaiting = 256;

  explicit FdStore(NotifySocket supervisor);  // one that is not open: nobody keeps anything
  explicit FdStore(const std::string& address) : FdStore(NotifySocket(address)) {}
  static FdStore of_environment() { return FdStore(NotifySocket::of_environment()); }
  FdStore(FdStore&&) = default;
  FdStore& operator=(FdStore&&) = delete;
  ~FdStore();

  bool keeps() const { return supervisor_.open(); }
  void store(const std::string& name, int descriptor);
  void remove(const std::string& name);
  void is_stored(const std::string& name);  // by a predecessor
  void say(const std::string& lines);       // "READY=1"
  void retry();
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Message {
    std::string text;
    Fd descriptor;     // or none
    std::string name;  // of what is to be stored
  };
  bool cancel(const std::string& name);
  void send(Message message);
  bool try_send(const Message& message);  // false: the queue is full

  NotifySocket supervisor_;
  std::deque<Message> waiting_;
  size_t waiting_descriptors_ = 0;
  std::multiset<std::string> stored_;  // or on the way there
  size_t names_bytes_ = 0;
};

}  // namespace fathom::agent
