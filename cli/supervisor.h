// Supervisor: keeps one server program running, on the same addresses, until it is told to stop.
//
// Purpose: `fathom up`. The server is started with --ready-fd and says there where it listens; the first answer fixes
// the addresses, and a server that dies (a crash, kill -9, out of memory) is started again on them, with growing
// pauses. A server that ends before it was ever ready cannot run here: that ends the supervisor, with the server's own
// words on standard error before it. Thread safety: one thread, the one that holds `signals`. Ownership: the child is
// killed and reaped at the end, gently first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/addresses.h"
#include "cli/child.h"
#include "cli/signals.h"

namespace fathom::cli {

struct SupervisorOptions {
  std::string program;
  std::vector<std::string> arguments;  // without the addresses
  Addresses addresses;                 // as asked for; port 0 until the server has chosen
  std::function<void(const Addresses&)> on_first_ready;
  uint64_t first_pause_nano = 50'000'000;  // before a restart; doubles with every death that follows soon
  uint64_t longest_pause_nano = 5'000'000'000;
  uint64_t healthy_nano = 1'000'000'000;      // ready for so long: the next pause is the first one again
  uint64_t stop_grace_nano = 30'000'000'000;  // from SIGTERM to SIGKILL
};

class Supervisor {
 public:
  Supervisor(SupervisorOptions options, Signals& signals) : options_(std::move(options)), signals_(signals) {}

  // Until SIGINT or SIGTERM (then success), or until the server proves unable to start.
  Result<> run();

 private:
  enum class Next { kStopped, kDied };

  Result<> start();
  Next watch();       // until the server dies or we are stopped
  void read_ready();  // what is in the pipe
  void note_ready(const Addresses& addresses);
  Next stop_child();
  bool pause();  // before a restart; false when stopped meanwhile
  void plan_pause();

  SupervisorOptions options_;
  Signals& signals_;
  std::optional<Child> child_;
  Fd ready_pipe_;
  std::string ready_text_;
  bool ever_ready_ = false;
  uint64_t ready_since_monotonic_nano_ = 0;  // 0: not ready now
  uint64_t pause_nano_ = 0;
  int last_status_ = 0;
};

}  // namespace fathom::cli
