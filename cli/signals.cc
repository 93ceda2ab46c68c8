#include "cli/signals.h"

#include <sys/signalfd.h>

#include <algorithm>
#include <climits>
#include <vector>

namespace fathom::cli {

namespace {

int poll_timeout_ms(uint64_t timeout_nano) {
  if (timeout_nano == UINT64_MAX) return -1;
  return static_cast<int>(std::min<uint64_t>((timeout_nano + 999'999) / 1'000'000, INT_MAX));
}

}  // namespace

Signals::Signals(bool hangup_reloads) : hangup_reloads_(hangup_reloads) {
  sigset_t mine;
  sigemptyset(&mine);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&mine, number);
  ::pthread_sigmask(SIG_BLOCK, &mine, &before_);
  descriptor_ = Fd(::signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK));
}

Signals::~Signals() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Signals::Wakeup Signals::drain() {
  Wakeup wakeup;
  signalfd_siginfo info;
  while (::read(descriptor_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGCHLD) {
      wakeup.child = true;
    } else if (info.ssi_signo == SIGHUP && hangup_reloads_) {
      wakeup.reload = true;
    } else {
      wakeup.stop = true;
    }
  }
  return wakeup;
}

Signals::Wakeup Signals::wait(int other, uint64_t timeout_nano) {
  pollfd one{other, POLLIN, 0};  // poll() skips negative descriptors
  return wait(std::span(&one, 1), timeout_nano);
}

Signals::Wakeup Signals::wait(std::span<pollfd> others, uint64_t timeout_nano) {
  std::vector<pollfd> watched(others.begin(), others.end());
  watched.push_back({descriptor_.get(), POLLIN, 0});
  ::poll(watched.data(), watched.size(), poll_timeout_ms(timeout_nano));
  Wakeup wakeup = drain();
  for (size_t i = 0; i < others.size(); ++i) {
    others[i].revents = watched[i].revents;
    if ((watched[i].revents & (POLLIN | POLLHUP)) != 0) wakeup.readable = true;
  }
  return wakeup;
}

}  // namespace fathom::cli
