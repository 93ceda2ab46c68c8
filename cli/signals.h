// Signals as something to wait for: SIGINT, SIGTERM, SIGHUP and SIGCHLD arrive through a descriptor, between two steps.
//
// Purpose: `up`, `demo` and the server decide at one place what ends them. Thread safety: make it in main() before any
// thread starts, so that every thread inherits the blocked mask. Ownership: the mask is restored by the destructor.
#pragma once

#include <poll.h>
#include <signal.h>

#include <cstdint>
#include <span>

#include "base/result.h"
#include "cli/fd.h"

namespace fathom::cli {

class Signals {
 public:
  // `hangup_reloads`: SIGHUP asks for a configuration to be read again, and ends nothing.
  explicit Signals(bool hangup_reloads = false);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return descriptor_.get(); }

  // Waits until a signal came, `other` (a descriptor, -1 for none) can be read, or the time is over (UINT64_MAX:
  // never).
  struct Wakeup {
    bool stop = false;      // SIGINT, SIGTERM, or SIGHUP where that does not reload
    bool reload = false;    // SIGHUP
    bool child = false;     // SIGCHLD
    bool readable = false;  // `other`, or one of `others`
  };
  Wakeup wait(int other, uint64_t timeout_nano);
  // The same for several descriptors; their `revents` say which.
  Wakeup wait(std::span<pollfd> others, uint64_t timeout_nano);

 private:
  Wakeup drain();
  const bool hangup_reloads_;
  sigset_t before_;
  Fd descriptor_;
};

}  // namespace fathom::cli
