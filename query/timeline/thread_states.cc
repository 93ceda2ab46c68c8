#include "query/timeline/thread_states.h"

#include <algorithm>
#include <array>

#include "query/timeline/syscall_names.h"

namespace fathom::query {

namespace {

using capture::KernelEvent;
using capture::KernelEventKind;
using capture::SwitchReason;

// In the order in which they are taken when they are of one moment: what a thread does ends before it leaves.
enum class SignKind : uint8_t { kStarted, kWoken, kCame, kRan, kLeft };

// Calls that mostly wait.
constexpr std::string_view kBlockingCalls[] = {
    "fcntl",           "fdatasync",    "fsync",           "mq_timedreceive", "msync",
    "recvfrom",        "recvmmsg",     "recvmsg",         "semop",           "sync",
    "io_pgetevents",   "mq_timedsend", "msgsnd",          "syncfs",          "vfork",
    "accept",          "accept4",      "clock_nanosleep", "connect",         "epoll_pwait",
    "epoll_pwait2",    "epoll_wait",   "flock",           "futex",           "futex_wait",
    "futex_waitv",     "io_getevents", "io_uring_enter",  "msgrcv",          "nanosleep",
    "pause",           "poll",         "ppoll",           "pselect6",        "rt_sigsuspend",
    "rt_sigtimedwait", "select",       "semtimedop",      "wait4",           "waitid"};
// Calls that wait for a socket, a pipe or a disk, or copy data the whole time.
constexpr std::string_view kCopyingCalls[] = {
    "open",    "openat", "openat2", "pread64", "preadv", "preadv2", "read",     "readv",   "sendfile", "sendmmsg",
    "sendmsg", "sendto", "splice",  "write",   "writev", "ioctl",   "pwrite64", "pwritev", "pwritev2"};
// A thread rarely runs for so long in such a call without a page fault or another event.
constexpr uint64_t kLongCallNano = 1'000'000;
constexpr uint64_t kLongCopyNano = 10'000'000;

uint64_t longest_run_in(std::string_view call_name) {
  if (std::ranges::count(kBlockingCalls, call_name) != 0) return kLongCallNano;
  return std::ranges::count(kCopyingCalls, call_name) != 0 ? kLongCopyNano : 0;
}

// 0: the event is no system call, or the call may run the whole time.
uint64_t longest_run_in(const KernelEvent& event) {
  constexpr int32_t kMostCalls = 1024;
  static const auto kLongest = [] {
    std::array<uint64_t, kMostCalls> longest{};
    for (int32_t number = 0; number < kMostCalls; ++number)
      longest[static_cast<size_t>(number)] = longest_run_in(syscall_name(number));
    return longest;
  }();
  const bool is_call = event.kind == KernelEventKind::kSyscall || event.kind == KernelEventKind::kSyscallUnderWay;
  const bool is_known = is_call && event.syscall >= 0 && event.syscall < kMostCalls;
  return is_known ? kLongest[static_cast<size_t>(event.syscall)] : 0;
}

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

// sched_yield() looks the same as preemption.
RunnableCause cause_of_leaving(const KernelEvent& event) {
  if (event.reason != SwitchReason::kPreempted) return RunnableCause::kWoken;
  return event.other_tid == 0 ? RunnableCause::kThrottled : RunnableCause::kPreemptedOrThrottled;
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
    if (!ended_) end(exits_ && last_ != nullptr ? last_nano_ : window_.to_nano);
    return std::move(states_);
  }

 private:
  void begin(const Sign* first, const Sign* earlier, bool ran_by_others) {
    now_ = {.guessed = true, .begin_nano = window_.from_nano};
    if (first == nullptr && exits_) return void(ended_ = true);
    if (first == nullptr) return begin_silent(earlier, ran_by_others);
    if (first->kind == SignKind::kStarted) return void(now_.begin_nano = first->nano);
    const bool came_within = earlier != nullptr && earlier->kind == SignKind::kCame;
    const bool slept = ends_earlier_call(*first) && !came_within;
    now_.state = slept ? ThreadState::kUnknown : before_sign(first->kind);
    if (first->event != nullptr && now_.state == ThreadState::kRunning) now_.cpu = first->event->cpu;
    if (now_.state == ThreadState::kBlocked && earlier != nullptr && earlier->kind == SignKind::kLeft &&
        is_blocked(after_leaving(earlier->event->reason))) {
      now_.state = after_leaving(earlier->event->reason);
    }
  }

  bool ends_earlier_call(const Sign& sign) const {
    const KernelEvent& event = *sign.event;
    return event.kind == KernelEventKind::kSyscall && sign.kind == SignKind::kRan && sign.nano == event.end_nano &&
           event.monotonic_nano < window_.from_nano;
  }

  // No event at all: it has not left a processor, nor come to one.
  void begin_silent(const Sign* earlier, bool ran_by_others) {
    now_.silence = Silence::kNoEvent;
    if (ran_by_others) {
      now_.state = ThreadState::kRunning;
    } else if (earlier != nullptr && earlier->kind == SignKind::kLeft) {
      now_.silence = Silence::kNone;
      now_.state = after_leaving(earlier->event->reason);
      ended_ = earlier->event->reason == SwitchReason::kEnded;
    } else if (earlier != nullptr && earlier->event->kind == KernelEventKind::kSyscallUnderWay) {
      now_.silence = Silence::kNone;
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
    const uint64_t longest_nano = sign.nano == sign.event->monotonic_nano ? longest_run_in(*sign.event) : 0;
    const uint64_t call_end_nano = longest_nano != 0 ? sign.event->end_nano : call_end_nano_;
    if (now_.state != ThreadState::kRunning) doubt();
    if (slept_in_call(sign.nano)) doubt_call();
    if (now_.state != ThreadState::kRunning)
      change(sign, {.state = ThreadState::kRunning, .guessed = true, .cpu = sign.event->cpu});
    // A page fault within the call restarts the time.
    call_nano_ = sign.nano < call_end_nano ? sign.nano : 0;
    call_end_nano_ = call_end_nano;
    if (longest_nano != 0) longest_run_nano_ = longest_nano;
  }

  // True if the thread is in a blocking call, and counts as running only because no event of its leaving was recorded.
  bool slept_in_call(uint64_t now_nano) const {
    return call_nano_ != 0 && now_.state == ThreadState::kRunning && now_nano - call_nano_ >= longest_run_nano_;
  }
  void doubt_call() {
    const KernelEvent* start = now_.start;
    close(call_nano_);
    now_ = {.guessed = true, .begin_nano = call_nano_, .start = start};
  }

  void left(const Sign& sign) {
    if (now_.state != ThreadState::kRunning) doubt();
    ThreadState next = after_leaving(sign.event->reason);
    change(sign, {.state = next, .cause = cause_of_leaving(*sign.event), .before = last_});
    ended_ = sign.event->reason == SwitchReason::kEnded;
  }

  // A change is missing somewhere within the state that lasts now.
  void doubt() { now_ = {.guessed = true, .begin_nano = now_.begin_nano, .start = now_.start}; }

  void change(const Sign& sign, StateInterval next) {
    call_nano_ = 0;
    call_end_nano_ = 0;
    close(sign.nano);
    now_ = next;
    now_.begin_nano = sign.nano;
    now_.start = sign.event;
  }

  void end(uint64_t end_nano) {
    if (slept_in_call(end_nano)) doubt_call();
    close(end_nano);
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
  // The last moment at which the thread is known to have run in a blocking call, without an event since; 0: none.
  uint64_t call_nano_ = 0;
  uint64_t call_end_nano_ = 0;
  uint64_t longest_run_nano_ = 0;  // in that call
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
