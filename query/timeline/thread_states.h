// Thread states: converts the kernel's events of one thread to its state at each moment.
//
// Purpose: the kernel's events are changes: a thread left the processor, came to it, or became runnable. A state lasts
// between two changes. The record may begin in the middle, and changes may be missing (a ring was overwritten, a
// recorder did not run); then no state is invented. Rules:
//  - Within [from, to) every moment has one state, from the thread's start to its end.
//  - The state before the first change follows from it: a thread that leaves ran; one that comes was runnable; one that
//    is woken was blocked. These states, and the state of a thread without any change, are `guessed`.
//  - A change that cannot follow the state (a thread leaves that did not run) shows that a change is missing: since the
//    last certain moment, the state is kUnknown.
//  - A thread ends when it leaves for good; without that event, at the last event after its exit.
//  - A system call, or a page fault, proves that the thread ran at that moment. It may have slept within a call.
//    Without an event of that, the state is kUnknown for a call that began before [from, to), a call that mostly blocks
//    (poll, futex) and lasted a millisecond, and one that blocks or copies (read, sendto) and lasted ten milliseconds.
//  - A runnable thread that leaves is kPreemptedOrThrottled, or kThrottled if no other thread came.
//  - A thread that comes without a wake-up event was woken. That event is sometimes recorded before the state that it
//    ends, so this is no loss.
// Thread safety: pure functions. Ownership: results point to the events that were given. Units: nanoseconds of the
// node's CLOCK_MONOTONIC. Source of the idea: the state systems of trace viewers (LTTng, Perfetto).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "capture/capture.h"

namespace fathom::query {

enum class ThreadState : uint8_t {
  kUnknown,
  kRunning,
  kRunnable,         // waits for a processor, see RunnableCause
  kSleeping,         // until a thread wakes it
  kUninterruptible,  // mostly: waits for a disk
  kBlocked,          // sleeping or uninterruptible; unknown which
  kStopped,          // by a signal, or a debugger
};
inline constexpr size_t kThreadStates = static_cast<size_t>(ThreadState::kStopped) + 1;
std::string_view thread_state_name(ThreadState state);  // "running", ...
inline bool is_wait(ThreadState state) {
  return state != ThreadState::kRunning && state != ThreadState::kUnknown;
}
inline bool is_blocked(ThreadState state) {
  return state >= ThreadState::kSleeping;
}

// Why a thread waits for a processor.
enum class RunnableCause : uint8_t {
  kWoken,                 // woken or created; or unknown
  kPreempted,             // by threads of its own process on the same processor (processor_use.h)
  kPreemptedOrThrottled,  // preempted, or stopped by the CPU quota of its control group
  kThrottled,             // most likely by a CPU quota: it was runnable, and its processor had nothing else to run
};

// Whether a capture has kernel events of the thread. Without one, the thread kept its state (state_union.h).
enum class Silence : uint8_t {
  kNone,      // it has, or some of the process's events were lost
  kNoEvent,   // it lists the thread, but has no kernel event of it in the window
  kNoThread,  // it does not list the thread
};

struct StateInterval {
  ThreadState state = ThreadState::kUnknown;
  bool guessed = false;                         // see above
  Silence silence = Silence::kNone;             // if the state covers a window of a capture
  RunnableCause cause = RunnableCause::kWoken;  // if state is kRunnable
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;
  uint16_t cpu = 0;                              // of kRunning
  const capture::KernelEvent* start = nullptr;   // what began it; nothing: the window did
  const capture::KernelEvent* waker = nullptr;   // what ended it: kWoken; of kRunnable: what began it
  const capture::KernelEvent* before = nullptr;  // the thread's last event before it: a page fault explains a wait

  uint64_t duration_nano() const { return end_nano - begin_nano; }
};

struct StateWindow {
  uint64_t from_nano = 0;  // complete from here on; earlier events only help to guess
  uint64_t to_nano = 0;
};

// `events` in any order; `ran_nano`: further moments at which the thread ran, by a less exact clock: they count only
// where the kernel's events say nothing at all. Result by time, without holes.
std::vector<StateInterval> thread_states(std::span<const capture::KernelEvent* const> events, const StateWindow& window,
                                         std::span<const uint64_t> ran_nano = {});

// Duration of each state.
using StateNano = std::array<uint64_t, kThreadStates>;

// How long each state lasted within [begin, end), and the longest wait there (nothing: there was none): state_index.h.
struct StateTotals {
  StateNano nano{};
  StateNano guessed_nano{};                   // part of `nano` that was guessed; 0 for kUnknown
  std::optional<StateInterval> longest_wait;  // cut to [begin, end)

  uint64_t of(ThreadState state) const { return nano[static_cast<size_t>(state)]; }
  uint64_t guessed_of(ThreadState state) const { return guessed_nano[static_cast<size_t>(state)]; }
};

}  // namespace fathom::query
