// Thread states: from what the kernel said of one thread to what the thread was doing at each moment.
//
// Purpose: the kernel tells of changes: left the processor, came, may run again. Between two of them a state lasts. The
// record may begin in the middle, and changes may be missing (a ring was overwritten, a program did not run): then no
// state is invented. Rules:
//  - Within [from, to) every moment has one state, from the thread's start to its end.
//  - What was before the first change follows from that change: who leaves ran; who comes was runnable; who is woken
//    was blocked. These, and what a thread without any change did, are `guessed`.
//  - A change that cannot follow the state (it leaves, and did not run) says that one is missing: from the last
//    thing that is certain until then the state is kUnknown.
//  - A thread ends when it leaves for good; where that is not told, with the last that is said of it after its exit.
//  - A system call, or a page fault, is proof that the thread ran at that moment. Within a call it may have slept: of a
//    call that began before [from, to), of one that blocks as a rule (poll, futex) and lasted for a millisecond, and of
//    one that blocks or copies (read, sendto) and lasted for ten, the state is kUnknown where no change was told of.
//  - A thread that leaves although it would run on is kPreemptedOrThrottled, or kThrottled where nothing else came.
//  - A thread that comes without having been woken was woken all the same: that change comes too early for the state
//    sometimes, and is no loss.
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
  kRunnable,         // waits for a processor: RunnableCause
  kSleeping,         // until somebody wakes it
  kUninterruptible,  // mostly: waits for a disk
  kBlocked,          // one of these two; which is not known
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
  kWoken,                 // or made; also: not known
  kPreempted,             // it would have run on; threads of its own process had its processor (processor_use.h)
  kPreemptedOrThrottled,  // it would have run on; the CPU quota of its control group may have been used up
  kThrottled,             // so it is, most likely: it would have run on, and its processor had nothing else to run
};

struct StateInterval {
  ThreadState state = ThreadState::kUnknown;
  bool guessed = false;                         // see above
  RunnableCause cause = RunnableCause::kWoken;  // of kRunnable
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

// How long each state lasted.
using StateNano = std::array<uint64_t, kThreadStates>;

// How long each state lasted within [begin, end), and the longest wait there (nothing: there was none): state_index.h.
struct StateTotals {
  StateNano nano{};
  StateNano guessed_nano{};                   // of it, what was guessed; of kUnknown nothing
  std::optional<StateInterval> longest_wait;  // cut to [begin, end)

  uint64_t of(ThreadState state) const { return nano[static_cast<size_t>(state)]; }
  uint64_t guessed_of(ThreadState state) const { return guessed_nano[static_cast<size_t>(state)]; }
};

}  // namespace fathom::query
