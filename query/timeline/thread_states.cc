#include "query/timeline/thread_states.h"

#include <algorithm>

namespace fathom::query {

namespace {

using capture::KernelEvent;
using capture::KernelEventKind;
using capture::SwitchReason;

// In the order in which they are taken when they are of one moment: what a thread does ends before it leaves.
enum class SignKind : uint8_t { kStarted, kWoken, kCame, kRan, kLeft };

struct Sign {
  uint64_t nano = 0;
  SignKind kind = SignKind::kRan;
  const KernelEvent* event = nullptr;
};

void add_signs(std::vector<Sign>& signs, const KernelEvent& event) {
  switch (event.kind) {
    case KernelEventKind::kSwitchedOut:
      signs.push_back({event.monotonic_nano, SignKind::kLeft, &event});
      break;
    case KernelEventKind::kSwitchedIn:
      signs.push_back({event.monotonic_nano, SignKind::kCame, &event});
      break;
    case KernelEventKind::kWoken:
      signs.push_back({event.monotonic_nano, SignKind::kWoken, &event});
      break;
    case KernelEventKind::kThreadStart:
      signs.push_back({event.monotonic_nano, SignKind::kStarted, &event});
      break;
    case KernelEventKind::kSyscall:
      if (event.monotonic_nano != 0) signs.push_back({event.monotonic_nano, SignKind::kRan, &event});
      signs.push_back({event.end_nano, SignKind::kRan, &event});
      break;
    case KernelEventKind::kSyscallUnderWay:
      if (event.monotonic_nano != 0) signs.push_back({event.monotonic_nano, SignKind::kRan, &event});
      break;
    case KernelEventKind::kUserFault:
    case KernelEventKind::kKernelFault:
    case KernelEventKind::kThreadExit:
    case KernelEventKind::kExec:
      signs.push_back({event.monotonic_nano, SignKind::kRan, &event});
      break;
    case KernelEventKind::kProcessStart:
    case KernelEventKind::kRename:  // by whom is not said: another thread may
      break;
  }
}

std::vector<Sign> signs_of(std::span<const KernelEvent* const> events) {
  std::vector<Sign> signs;
  signs.reserve(events.size() + events.size() / 2);
  for (const KernelEvent* event : events) add_signs(signs, *event);
  std::stable_sort(signs.begin(), signs.end(),
                   [](const Sign& a, const Sign& b) { return a.nano != b.nano ? a.nano < b.nano : a.kind < b.kind; });
  return signs;
}

ThreadState after_leaving(SwitchReason reason) {
  switch (reason) {
    case SwitchReason::kPreempted:
      return ThreadState::kRunnable;
    case SwitchReason::kSleeps:
      return ThreadState::kSleeping;
    case SwitchReason::kUninterruptible:
      return ThreadState::kUninterruptible;
    case SwitchReason::kStopped:
      return ThreadState::kStopped;
    case SwitchReason::kEnded:
      break;
  }
  return ThreadState::kUnknown;
}

// What must have been before a sign that is the first.
ThreadState before_sign(SignKind kind) {
  switch (kind) {
    case SignKind::kCame:
      return ThreadState::kRunnable;
    case SignKind::kRan:
    case SignKind::kLeft:
      return ThreadState::kRunning;
    case SignKind::kWoken:
      return ThreadState::kBlocked;
    case SignKind::kStarted:
      break;
  }
  return ThreadState::kUnknown;
}

class Machine {
 public:
  Machine(std::vector<Sign> signs, const StateWindow& window) : signs_(std::move(signs)), window_(window) {}

  std::vector<StateInterval> run(bool ran_by_others) {
    auto first = std::find_if(signs_.begin(), signs_.end(), [&](const Sign& s) { return s.nano >= window_.from_nano; });
    for (auto sign = signs_.begin(); sign != first; ++sign) note_exit(*sign);
    const Sign* earlier = first == signs_.begin() ? nullptr : &*(first - 1);
    begin(first == signs_.end() ? nullptr : &*first, earlier, ran_by_others);
    for (auto sign = first; sign != signs_.end() && sign->nano < window_.to_nano && !ended_; ++sign) take(*sign);
    if (!ended_) close(exits_ && last_ != nullptr ? last_nano_ : window_.to_nano);
    return std::move(states_);
  }

 private:
  void begin(const Sign* first, const Sign* earlier, bool ran_by_others) {
    now_ = {.guessed = true, .begin_nano = window_.from_nano};
    if (first == nullptr && exits_) return void(ended_ = true);
    if (first == nullptr) return begin_silent(earlier, ran_by_others);
    if (first->kind == SignKind::kStarted) return void(now_.begin_nano = first->nano);
    now_.state = before_sign(first->kind);
    if (first->event != nullptr && now_.state == ThreadState::kRunning) now_.cpu = first->event->cpu;
    if (now_.state == ThreadState::kBlocked && earlier != nullptr && earlier->kind == SignKind::kLeft &&
        is_blocked(after_leaving(earlier->event->reason))) {
      now_.state = after_leaving(earlier->event->reason);
    }
  }

  // No event at all: it has not left a processor, nor come to one.
  void begin_silent(const Sign* earlier, bool ran_by_others) {
    if (ran_by_others) {
      now_.state = ThreadState::kRunning;
    } else if (earlier != nullptr && earlier->kind == SignKind::kLeft) {
      now_.state = after_leaving(earlier->event->reason);
      ended_ = earlier->event->reason == SwitchReason::kEnded;
    } else if (earlier != nullptr && earlier->event->kind == KernelEventKind::kSyscallUnderWay) {
      now_.state = ThreadState::kBlocked;
    }
  }

  void take(const Sign& sign) {
    switch (sign.kind) {
      case SignKind::kStarted:
        now_.begin_nano = sign.nano;  // whatever had this number before was another thread
        change(sign, {.state = ThreadState::kRunnable, .waker = sign.event});
        break;
      case SignKind::kWoken:
        woken(sign);
        break;
      case SignKind::kCame:
        if (now_.state == ThreadState::kRunning) doubt();
        change(sign, {.state = ThreadState::kRunning, .cpu = sign.event->cpu});
        break;
      case SignKind::kRan:
        ran(sign);
        break;
      case SignKind::kLeft:
        left(sign);
        break;
    }
    note_exit(sign);
    last_ = sign.event;
    last_nano_ = sign.nano;
  }

  // Of a process's last threads it is not told that they leave. exec() lets the first one's number live on.
  void note_exit(const Sign& sign) {
    KernelEventKind kind = sign.event->kind;
    if (kind == KernelEventKind::kThreadExit) exits_ = true;
    if (kind == KernelEventKind::kThreadStart || kind == KernelEventKind::kExec) exits_ = false;
  }

  // Who is woken while it runs, or twice, stays what it is.
  void woken(const Sign& sign) {
    if (!is_blocked(now_.state) && now_.state != ThreadState::kUnknown) return;
    now_.waker = sign.event;
    change(sign, {.state = ThreadState::kRunnable, .waker = sign.event});
  }

  void ran(const Sign& sign) {
    if (now_.state == ThreadState::kRunning) return;
    doubt();
    change(sign, {.state = ThreadState::kRunning, .guessed = true, .cpu = sign.event->cpu});
  }

  void left(const Sign& sign) {
    if (now_.state != ThreadState::kRunning) doubt();
    ThreadState next = after_leaving(sign.event->reason);
    change(sign, {.state = next, .preempted = next == ThreadState::kRunnable, .before = last_});
    ended_ = sign.event->reason == SwitchReason::kEnded;
  }

  // A change is missing somewhere within the state that lasts now.
  void doubt() { now_ = {.guessed = true, .begin_nano = now_.begin_nano, .start = now_.start}; }

  void change(const Sign& sign, StateInterval next) {
    close(sign.nano);
    now_ = next;
    now_.begin_nano = sign.nano;
    now_.start = sign.event;
  }

  void close(uint64_t end_nano) {
    now_.end_nano = end_nano;
    if (now_.end_nano > now_.begin_nano) states_.push_back(now_);
  }

  const std::vector<Sign> signs_;
  const StateWindow window_;
  std::vector<StateInterval> states_;
  StateInterval now_;
  const KernelEvent* last_ = nullptr;
  uint64_t last_nano_ = 0;
  bool exits_ = false;
  bool ended_ = false;
};

bool any_within(std::span<const uint64_t> instants, const StateWindow& window) {
  return std::any_of(instants.begin(), instants.end(),
                     [&](uint64_t nano) { return nano >= window.from_nano && nano < window.to_nano; });
}

}  // namespace

std::string_view thread_state_name(ThreadState state) {
  constexpr std::string_view kNames[] = {"unknown",         "running", "runnable", "sleeping",
                                         "uninterruptible", "blocked", "stopped"};
  static_assert(std::size(kNames) == kThreadStates);
  return kNames[static_cast<size_t>(state)];
}

std::vector<StateInterval> thread_states(std::span<const KernelEvent* const> events, const StateWindow& window,
                                         std::span<const uint64_t> ran_nano) {
  if (window.to_nano <= window.from_nano) return {};
  return Machine(signs_of(events), window).run(any_within(ran_nano, window));
}

}  // namespace fathom::query
