// The agent's end of the socket, for tests: takes offers, answers what it is told to.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/pool/layout.h"

namespace fathom::client::testing {

inline constexpr int kAgentTimeoutMs = 60'000;  // what a program does that works takes less, whatever it is built with
inline const std::string kNodeId = "0123456789abcdef";

// Closes what it holds.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  ~OwnedFd();
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct Offered {
  OwnedFd connection;
  OwnedFd pool;
  pool::Offer offer;
  uint64_t inode;  // of the pool: which one it is

  // False when the other side has gone already.
  bool answer(pool::Verdict verdict, const std::string& node_id, uint32_t abilities = 0) const;
  // What else comes over the connection; nothing when nothing does in time.
  std::optional<Offered> next_offer(int timeout_ms) const;
  bool say_tracepoints(const std::string& patterns) const;
  // True when the other side's end of the connection closes in time.
  bool wait_for_end(int timeout_ms) const;
};

class FakeAgent {
 public:
  FakeAgent();                           // at a name that is this process's and nobody else's
  explicit FakeAgent(std::string path);  // at a path, or a name with '@'
  ~FakeAgent() { close(); }
  // For FATHOM_AGENT_SOCKET.
  const std::string& path() const { return path_; }
  // The next offer; nothing when none comes in time. Connections that end without one are passed over: a helper
  // thread's process can exit between its connect() and its offer.
  std::optional<Offered> accept(int timeout_ms);
  // As when the agent ends in order, and another one comes.
  void close();
  void listen();

 private:
  std::string path_;
  OwnedFd socket_;
};

}  // namespace fathom::client::testing
