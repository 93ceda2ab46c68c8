// Supervisor: keeps several programs running until it is told to stop.
//
// Purpose: `fathom up`, which keeps the server and the agent of this host. Programs are started in the order in which
// they were added, each when those before it are ready, and are stopped in the opposite order, so that the agent can
// still hand over what it holds. Afterwards each is restarted on its own (cli/supervised.h). A program that cannot
// start ends all of them. Thread safety: one thread, the one that holds `signals`. Ownership: the children are killed
// and reaped at the end, gently first; descriptor stores are the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "cli/signals.h"
#include "cli/supervised.h"

namespace fathom::cli {

class Supervisor {
 public:
  explicit Supervisor(Signals& signals) : signals_(signals) {}

  void add(SupervisedOptions options) { programs_.emplace_back(std::move(options)); }
  // Until SIGINT, SIGTERM or SIGHUP (then success), or until a program proves unable to start. Where `signals` takes
  // SIGHUP for a reload, it goes to the programs that know of that.
  Result<> run(const std::function<void()>& on_first_ready);

 private:
  Result<> watch(const std::function<void()>& on_first_ready);
  Result<> start_those_due();
  Signals::Wakeup wait(uint64_t timeout_nano);
  uint64_t until_next_start() const;
  void say_what_is_starting() const;
  bool all_ready() const;
  void reload_all() const;
  void stop_all();
  bool stop(Supervised& program);

  Signals& signals_;
  std::vector<Supervised> programs_;
};

}  // namespace fathom::cli
