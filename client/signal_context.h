// Is this a signal handler? Some things (a new thread, memory for it) may be done outside of one only.
//
// Purpose: a "no" is certain as far as the kernel's doings go, a "yes" may be false, and then the thing is done a
// little later. Thread safety: system calls and stack only. Source of the idea: the frame that the kernel pushes for a
// handler names the code that returns from it, and that address is known.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace fathom::client {

// `mask`: the thread's, from before the caller blocked anything.
bool maybe_in_signal_handler(const sigset_t& mask);

// A thread that is to be cancelled is not while this lives: our callers cannot be unwound.
class NotCancelled {
 public:
  NotCancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// No handler runs on this thread while this lives, and it is not cancelled.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  const sigset_t& before() const { return before_; }

 private:
  NotCancelled not_cancelled_;
  sigset_t before_;
};

}  // namespace fathom::client
