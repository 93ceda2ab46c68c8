#include "node-agent/kernel/missing_changes.h"

#include <map>
#include <utility>

namespace fathom::agent::kernel {

namespace {

// One thread, from change to change.
class Follower {
 public:
  void start() { now_ = {Place::kQueued, true}; }
  // The thread that calls exec() goes on under the number of the first one.
  void exec() { now_ = {Place::kProcessor, true}; }

  // A wake-up that comes while it is about to sleep comes before the switch.
  void woken() {
    now_.woken = true;
    if (now_.place == Place::kAsleep) now_.place = Place::kQueued;
  }

  uint64_t came() {
    const bool unseen = now_.place == Place::kProcessor || (now_.place == Place::kAsleep && !now_.woken);
    now_ = {Place::kProcessor, false};
    return unseen ? 1 : 0;
  }

  uint64_t ran() {
    const bool unseen = now_.place == Place::kQueued || now_.place == Place::kAsleep;
    now_.place = Place::kProcessor;
    return unseen ? 1 : 0;
  }

  uint64_t left(SwitchReason reason) {
    const uint64_t unseen = ran();
    now_.place = reason == SwitchReason::kPreempted ? Place::kQueued
                 : reason == SwitchReason::kEnded   ? Place::kUnknown
                                                    : Place::kAsleep;
    return unseen;
  }

 private:
  enum class Place : uint8_t { kUnknown, kProcessor, kQueued, kAsleep };
  struct State {
    Place place = Place::kUnknown;
    bool woken = true;  // since it came; or that may be
  };
  State now_;
};

class Followers {
 public:
  explicit Followers(const ChoiceFilter& filter) : filter_(filter) {}

  uint64_t take(const KernelEvent& event) {
    if (event.kind == KernelEventKind::kSwitch) return take_switch(event);
    Follower* thread = find(event.pid, event.tid, event.monotonic_nano);
    return thread != nullptr ? take(*thread, event.kind) : 0;
  }

 private:
  uint64_t take_switch(const KernelEvent& event) {
    Follower* leaves = find(event.pid, event.tid, event.monotonic_nano);
    Follower* comes = find(event.other_pid, event.other_tid, event.monotonic_nano);
    return (leaves != nullptr ? leaves->left(event.reason) : 0) + (comes != nullptr ? comes->came() : 0);
  }

  static uint64_t take(Follower& thread, KernelEventKind kind) {
    switch (kind) {
      case KernelEventKind::kWake:
        thread.woken();
        break;
      case KernelEventKind::kThreadStart:
        thread.start();
        break;
      case KernelEventKind::kExec:
        thread.exec();
        break;
      case KernelEventKind::kSyscall:
      case KernelEventKind::kUserFault:
      case KernelEventKind::kKernelFault:
      case KernelEventKind::kProcessStart:
      case KernelEventKind::kThreadExit:
        return thread.ran();
      case KernelEventKind::kSwitch:
      case KernelEventKind::kSyscallUnderWay:  // its time is that of the look
      case KernelEventKind::kRename:           // another thread may have done it
        break;
    }
    return 0;
  }

  Follower* find(int32_t pid, int32_t tid, uint64_t monotonic_nano) {
    const Choice* choice = filter_.find(pid, monotonic_nano);
    return choice != nullptr ? &threads_[{choice, tid}] : nullptr;
  }

  const ChoiceFilter& filter_;
  std::map<std::pair<const Choice*, int32_t>, Follower> threads_;  // between two choices nothing is recorded
};

}  // namespace

uint64_t missing_changes(std::span<const KernelEvent> events, const ChoiceFilter& filter, uint64_t from_nano,
                         uint64_t until_nano) {
  Followers followers(filter);
  uint64_t missing = 0;
  for (const KernelEvent& event : events) {
    if (event.monotonic_nano >= from_nano && event.monotonic_nano < until_nano) missing += followers.take(event);
  }
  return missing;
}

}  // namespace fathom::agent::kernel
