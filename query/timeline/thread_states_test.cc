#include "query/timeline/thread_states.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "query/timeline/state_index.h"
#include "query/timeline/syscall_names.h"

namespace fathom::query {
namespace {

using capture::KernelEvent;
using capture::KernelEventKind;
using capture::SwitchReason;

// `next`: the thread that the processor ran next; 0: the idle thread.
KernelEvent left(uint64_t at, SwitchReason reason, uint16_t cpu = 0, int32_t next = 9) {
  return {.kind = KernelEventKind::kSwitchedOut,
          .reason = reason,
          .cpu = cpu,
          .monotonic_nano = at,
          .other_pid = next,
          .other_tid = next};
}
KernelEvent came(uint64_t at, uint16_t cpu = 0) {
  return {.kind = KernelEventKind::kSwitchedIn, .cpu = cpu, .monotonic_nano = at};
}
KernelEvent woken(uint64_t at, int32_t by = 7) {
  return {.kind = KernelEventKind::kWoken, .monotonic_nano = at, .other_tid = by};
}
KernelEvent call(uint64_t begin, uint64_t end) {
  return {.kind = KernelEventKind::kSyscall, .monotonic_nano = begin, .end_nano = end};
}
KernelEvent under_way(uint64_t begin, uint64_t seen) {
  return {.kind = KernelEventKind::kSyscallUnderWay, .monotonic_nano = begin, .end_nano = seen};
}
KernelEvent of_kind(KernelEventKind kind, uint64_t at) {
  return {.kind = kind, .monotonic_nano = at};
}

std::vector<StateInterval> states_of(const std::vector<KernelEvent>& events, StateWindow window,
                                     const std::vector<uint64_t>& ran = {}) {
  std::vector<const KernelEvent*> pointers;
  for (const KernelEvent& event : events) pointers.push_back(&event);
  return thread_states(pointers, window, ran);
}

constexpr const char* kCauseTexts[] = {"", " preempted", " preempted or throttled", " throttled"};

// "running 0-10 cpu 1, sleeping? 10-20 <7": a question mark says that it is guessed, < who woke it.
std::string text_of(const std::vector<StateInterval>& states) {
  std::string text;
  for (const StateInterval& state : states) {
    text += (text.empty() ? "" : ", ") + std::string(thread_state_name(state.state)) + (state.guessed ? "?" : "");
    text += " " + std::to_string(state.begin_nano) + "-" + std::to_string(state.end_nano);
    if (state.state == ThreadState::kRunning && state.cpu != 0) text += " cpu " + std::to_string(state.cpu);
    if (state.waker != nullptr && is_blocked(state.state)) text += " <" + std::to_string(state.waker->other_tid);
    text += kCauseTexts[static_cast<size_t>(state.cause)];
  }
  return text;
}
std::string told(const std::vector<KernelEvent>& events, StateWindow window = {0, 100},
                 const std::vector<uint64_t>& ran = {}) {
  return text_of(states_of(events, window, ran));
}

TEST(ThreadStates, AWaitIsSleepThenAQueueThenAProcessor) {
  EXPECT_EQ(told({came(10, 3), left(20, SwitchReason::kSleeps, 3), woken(70), came(75, 1)}),
            "runnable? 0-10, running 10-20 cpu 3, sleeping 20-70 <7, runnable 70-75, running 75-100 cpu 1");
}

TEST(ThreadStates, TheReasonSaysWhatFollows) {
  EXPECT_EQ(
      told({came(0), left(10, SwitchReason::kPreempted), came(20), left(30, SwitchReason::kUninterruptible),
            woken(40, 8), came(50), left(60, SwitchReason::kStopped), woken(70, 9), came(80)}),
      "running 0-10, runnable 10-20 preempted or throttled, running 20-30, uninterruptible 30-40 <8, runnable 40-50, "
      "running 50-60, stopped 60-70 <9, runnable 70-80, running 80-100");
}

TEST(ThreadStates, AnIdleProcessorIsNotPreemption) {
  EXPECT_EQ(told({came(0), left(10, SwitchReason::kPreempted, 0, 0), came(20), left(30, SwitchReason::kSleeps, 0, 0)}),
            "running 0-10, runnable 10-20 throttled, running 20-30, sleeping 30-100");
}

TEST(ThreadStates, AThreadThatEndedHasNoStateAnyMore) {
  EXPECT_EQ(told({came(10), of_kind(KernelEventKind::kThreadExit, 15), left(20, SwitchReason::kEnded), came(50)}),
            "runnable? 0-10, running 10-20");
}

TEST(ThreadStates, AThreadEndsWithItsExitWhereNothingIsSaidOfItsLeaving) {
  const KernelEvent exits = of_kind(KernelEventKind::kThreadExit, 15);
  EXPECT_EQ(told({came(10), exits}), "runnable? 0-10, running 10-15");
  EXPECT_EQ(told({came(10), exits, left(20, SwitchReason::kPreempted)}), "runnable? 0-10, running 10-20");
  EXPECT_EQ(told({came(10), exits, left(20, SwitchReason::kSleeps), woken(30), came(40)}),
            "runnable? 0-10, running 10-20, sleeping 20-30 <7, runnable 30-40");
  EXPECT_EQ(told({came(10), exits}, {50, 100}), "") << "it ended before the window";
  EXPECT_EQ(told({came(10), exits}, {10, 12}), "running 10-12") << "and here after it";
  EXPECT_EQ(told({came(10), exits, of_kind(KernelEventKind::kExec, 30)}, {20, 100}), "running? 20-100")
      << "another thread has taken its number";
}

TEST(ThreadStates, AThreadBeginsWhenItIsMade) {
  EXPECT_EQ(told({of_kind(KernelEventKind::kThreadStart, 30), came(40, 2)}), "runnable 30-40, running 40-100 cpu 2");
}

TEST(ThreadStates, WhatWasBeforeTheFirstChangeFollowsFromIt) {
  EXPECT_EQ(told({left(10, SwitchReason::kSleeps, 2)}), "running? 0-10 cpu 2, sleeping 10-100");
  EXPECT_EQ(told({woken(10)}), "blocked? 0-10 <7, runnable 10-100");
  EXPECT_EQ(told({call(10, 20), left(30, SwitchReason::kSleeps)}), "running? 0-30, sleeping 30-100");
}

TEST(ThreadStates, WhatIsBeforeTheWindowHelpsToGuess) {
  EXPECT_EQ(told({left(10, SwitchReason::kUninterruptible), woken(60)}, {50, 100}),
            "uninterruptible? 50-60 <7, runnable 60-100");
  EXPECT_EQ(told({left(10, SwitchReason::kSleeps)}, {50, 100}), "sleeping? 50-100");
  EXPECT_EQ(told({left(10, SwitchReason::kEnded)}, {50, 100}), "");
}

KernelEvent named_call(std::string_view name, uint64_t begin, uint64_t end) {
  KernelEvent event = call(begin, end);
  while (syscall_name(event.syscall) != name) ++event.syscall;
  return event;
}
KernelEvent poll(uint64_t begin, uint64_t end) {
  return named_call("poll", begin, end);
}

TEST(ThreadStates, WithinACallThatBlocksItIsNotSaidToRun) {
  constexpr uint64_t kMilli = 1'000'000;
  const StateWindow window{10 * kMilli, 100 * kMilli};
  EXPECT_EQ(told({poll(5 * kMilli, 50 * kMilli)}, window), "unknown? 10000000-50000000, running? 50000000-100000000")
      << "it began before";
  EXPECT_EQ(told({poll(20 * kMilli, 60 * kMilli), left(90 * kMilli, SwitchReason::kSleeps)}, window),
            "running? 10000000-20000000, unknown? 20000000-60000000, running? 60000000-90000000, "
            "sleeping 90000000-100000000")
      << "its changes are missing";
  EXPECT_EQ(told({poll(20 * kMilli, 60 * kMilli), left(20 * kMilli + 5, SwitchReason::kSleeps), woken(59 * kMilli),
                  came(59 * kMilli + 1)},
                 window),
            "running? 10000000-20000005, sleeping 20000005-59000000 <7, runnable 59000000-59000001, "
            "running 59000001-100000000")
      << "nothing is missing";
  EXPECT_EQ(told({poll(20 * kMilli, 20 * kMilli + 900)}, window), "running? 10000000-100000000") << "too short";
  EXPECT_EQ(told({poll(20 * kMilli, 60 * kMilli), of_kind(KernelEventKind::kUserFault, 20 * kMilli + 9)}, window),
            "running? 10000000-20000009, unknown? 20000009-60000000, running? 60000000-100000000")
      << "a page fault says nothing of the rest of the call";
  KernelEvent still = poll(20 * kMilli, 100 * kMilli);
  still.kind = KernelEventKind::kSyscallUnderWay;
  EXPECT_EQ(told({still}, window), "running? 10000000-20000000, unknown? 20000000-100000000") << "not over";
}

TEST(ThreadStates, CallsThatMostlyWaitAreNotSaidToRun) {
  constexpr uint64_t kMilli = 1'000'000;
  for (std::string_view name : {"fsync", "syncfs", "vfork", "msgsnd", "mq_timedsend", "io_pgetevents", "wait4"}) {
    EXPECT_EQ(told({named_call(name, 20 * kMilli, 25 * kMilli)}, {10 * kMilli, 100 * kMilli}),
              "running? 10000000-20000000, unknown? 20000000-25000000, running? 25000000-100000000")
        << name;
  }
}

TEST(ThreadStates, ALongReadMayHaveWaited) {
  constexpr uint64_t kMilli = 1'000'000;
  const StateWindow window{10 * kMilli, 2'000 * kMilli};
  for (std::string_view name : {"read", "readv", "pread64", "sendto", "sendmsg", "write", "splice", "openat",
                                "pwrite64", "pwritev", "pwritev2", "ioctl"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(told({named_call(name, 20 * kMilli, 1'020 * kMilli)}, window),
              "running? 10000000-20000000, unknown? 20000000-1020000000, running? 1020000000-2000000000");
    EXPECT_EQ(told({named_call(name, 20 * kMilli, 29 * kMilli)}, window), "running? 10000000-2000000000")
        << "it may have copied for as long";
  }
  EXPECT_EQ(
      told({named_call("read", 20 * kMilli, 36 * kMilli), of_kind(KernelEventKind::kUserFault, 28 * kMilli)}, window),
      "running? 10000000-2000000000")
      << "a page fault within says that it copied";
  EXPECT_EQ(told({named_call("getpid", 20 * kMilli, 1'020 * kMilli)}, window), "running? 10000000-2000000000");
}

TEST(ThreadStates, AThreadOfWhichNothingIsSaidIsUnknown) {
  EXPECT_EQ(told({}), "unknown? 0-100");
  EXPECT_EQ(told({under_way(0, 100)}), "unknown? 0-100") << "it may be in the call's middle, or have been left out";
  EXPECT_EQ(told({under_way(20, 100)}, {50, 100}), "blocked? 50-100");
  EXPECT_EQ(told({}, {0, 100}, {50}), "running? 0-100") << "it wrote events, and has not left a processor";
  EXPECT_EQ(told({}, {0, 100}, {150}), "unknown? 0-100");
}

TEST(ThreadStates, WithoutAWindowThereIsNothing) {
  EXPECT_EQ(told({came(10)}, {0, 0}), "");
  EXPECT_EQ(told({came(10)}, {50, 20}), "");
}

TEST(ThreadStates, AMissingChangeMakesNoStateUp) {
  EXPECT_EQ(told({came(0), left(10, SwitchReason::kSleeps), left(50, SwitchReason::kSleeps), woken(60)}),
            "running 0-10, unknown? 10-50, sleeping 50-60 <7, runnable 60-100")
      << "it came in between, and nobody says when";
  EXPECT_EQ(told({came(10, 1), came(50, 2)}, {10, 100}), "unknown? 10-50, running 50-100 cpu 2");
  EXPECT_EQ(told({came(0), left(10, SwitchReason::kSleeps), call(40, 45), left(60, SwitchReason::kSleeps)}),
            "running 0-10, unknown? 10-40, running? 40-60, sleeping 60-100")
      << "a system call begins: it runs";
}

TEST(ThreadStates, NobodySaysWhoWokeIt) {
  EXPECT_EQ(told({came(0), left(10, SwitchReason::kSleeps), came(50)}), "running 0-10, sleeping 10-50, running 50-100");
}

TEST(ThreadStates, AWakeOfWhoRunsOrWaitsAlreadyChangesNothing) {
  EXPECT_EQ(told({came(0), woken(5), left(10, SwitchReason::kSleeps), woken(20), woken(30), came(40)}),
            "running 0-10, sleeping 10-20 <7, runnable 20-40, running 40-100");
}

TEST(ThreadStates, WithinASystemCallItSleepsAllTheSame) {
  EXPECT_EQ(told({came(0), left(20, SwitchReason::kSleeps), woken(80), came(85), call(10, 90)}),
            "running 0-20, sleeping 20-80 <7, runnable 80-85, running 85-100");
}

TEST(ThreadStates, APageFaultExplainsTheWaitBehindIt) {
  auto events =
      std::vector{came(0), of_kind(KernelEventKind::kUserFault, 19), left(20, SwitchReason::kUninterruptible)};
  auto states = states_of(events, {0, 100});
  ASSERT_EQ(states.size(), 2u);
  ASSERT_NE(states[1].before, nullptr);
  EXPECT_EQ(states[1].before->kind, KernelEventKind::kUserFault);
}

TEST(ThreadStates, TotalsAreOfWhatWasAskedFor) {
  auto events = std::vector{came(0), left(20, SwitchReason::kSleeps), woken(80), came(85)};
  auto states = states_of(events, {0, 100});
  StateIndex index(states);
  StateTotals totals = index.totals(10, 90);
  EXPECT_EQ(totals.of(ThreadState::kRunning), 15u);
  EXPECT_EQ(totals.of(ThreadState::kSleeping), 60u);
  EXPECT_EQ(totals.of(ThreadState::kRunnable), 5u);
  ASSERT_TRUE(totals.longest_wait);
  EXPECT_EQ(totals.longest_wait->begin_nano, 20u);
  EXPECT_EQ(index.totals(50, 60).longest_wait->duration_nano(), 10u) << "cut to what was asked for";
  EXPECT_FALSE(index.totals(0, 20).longest_wait);
  EXPECT_FALSE(index.totals(60, 50).longest_wait);
}

// A thread's true life, and what a recorder that loses some of it says: no state that is not guessed is wrong, but for
// the reasons of sleep that nobody contradicts.
TEST(ThreadStates, WhateverIsLostTheIntervalsAreWholeAndInOrder) {
  std::mt19937_64 random(20261122);
  for (int round = 0; round < 2000; ++round) {
    std::vector<KernelEvent> events;
    for (uint64_t at = random() % 10; at < 1000; at += 1 + random() % 50) {
      switch (random() % 6) {
        case 0:
          events.push_back(left(at, static_cast<SwitchReason>(random() % 4)));
          break;
        case 1:
          events.push_back(came(at));
          break;
        case 2:
          events.push_back(woken(at));
          break;
        case 3:
          events.push_back(call(at, at + random() % 30));
          break;
        case 4:
          events.push_back(under_way(at, 1000));
          break;
        default:
          events.push_back(of_kind(KernelEventKind::kUserFault, at));
      }
    }
    std::shuffle(events.begin(), events.end(), random);
    StateWindow window{random() % 500, 500 + random() % 500};
    auto states = states_of(events, window);
    uint64_t at = window.from_nano;
    for (const StateInterval& state : states) {
      ASSERT_EQ(state.begin_nano, at) << text_of(states);
      ASSERT_GT(state.end_nano, state.begin_nano) << text_of(states);
      at = state.end_nano;
    }
    ASSERT_EQ(at, std::max(window.from_nano, window.to_nano)) << text_of(states);
  }
}

// The truth as a sequence of states, told without loss from its very begin: the machine gives it back.
TEST(ThreadStates, WithoutLossTheTruthComesBack) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 500; ++round) {
    std::vector<KernelEvent> events{came(0)};
    std::string truth;
    uint64_t at = 0;
    while (at < 10'000) {
      uint64_t leaves = at + 1 + random() % 100;
      auto reason = static_cast<SwitchReason>(random() % 4);
      events.push_back(call(at, leaves));
      events.push_back(left(leaves, reason));
      truth += (truth.empty() ? "" : ", ") + ("running " + std::to_string(at) + "-" + std::to_string(leaves));
      uint64_t comes = leaves + 1 + random() % 100;
      if (reason == SwitchReason::kPreempted) {
        truth += ", runnable " + std::to_string(leaves) + "-" + std::to_string(comes) + " preempted or throttled";
      } else {
        uint64_t wakes = leaves + 1 + random() % 100;
        comes = wakes + 1 + random() % 100;
        constexpr const char* kNames[] = {"", "sleeping ", "uninterruptible ", "stopped "};
        events.push_back(woken(wakes));
        truth +=
            ", " + (kNames[static_cast<int>(reason)] + std::to_string(leaves)) + "-" + std::to_string(wakes) + " <7";
        truth += ", runnable " + std::to_string(wakes) + "-" + std::to_string(comes);
      }
      events.push_back(came(comes));
      at = comes;
    }
    ASSERT_EQ(told(events, {0, at}), truth);
  }
}

}  // namespace
}  // namespace fathom::query
