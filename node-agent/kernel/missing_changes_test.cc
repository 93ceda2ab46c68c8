#include "node-agent/kernel/missing_changes.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace fathom::agent::kernel {
namespace {

constexpr ProcessId kChosenProcess{.pid = 70, .started_ticks = 1};
constexpr int32_t kOtherPid = 99;  // is not chosen

struct Turn {
  std::vector<KernelEvent> events = {};
  uint64_t now = 1'000;

  Turn& add(KernelEvent event) {
    event.monotonic_nano = now += 10;
    events.push_back(event);
    return *this;
  }
  Turn& left(int32_t tid, SwitchReason reason = SwitchReason::kSleeps, int32_t other_pid = kOtherPid,
             int32_t other_tid = kOtherPid) {
    return add({.kind = KernelEventKind::kSwitch,
                .reason = reason,
                .pid = kChosenProcess.pid,
                .tid = tid,
                .other_pid = other_pid,
                .other_tid = other_tid});
  }
  Turn& came(int32_t tid) {
    return add({.kind = KernelEventKind::kSwitch,
                .reason = SwitchReason::kSleeps,  // is the other one's
                .pid = kOtherPid,
                .tid = kOtherPid,
                .other_pid = kChosenProcess.pid,
                .other_tid = tid});
  }
  Turn& of(KernelEventKind kind, int32_t tid) { return add({.kind = kind, .pid = kChosenProcess.pid, .tid = tid}); }
  Turn& woken(int32_t tid) { return of(KernelEventKind::kWake, tid); }
  Turn& call(int32_t tid) { return of(KernelEventKind::kSyscall, tid); }
};

ChoiceFilter chosen(uint64_t begin_nano = 0, uint64_t end_nano = UINT64_MAX) {
  ChoiceFilter filter;
  filter.add({kChosenProcess, begin_nano, end_nano});
  return filter;
}

uint64_t missing(const Turn& turn, uint64_t from_nano = 0, uint64_t until_nano = UINT64_MAX) {
  return missing_changes(turn.events, chosen(), from_nano, until_nano);
}

TEST(MissingChanges, NothingIsMissingWhereEachFollowsTheOther) {
  EXPECT_EQ(missing(Turn().came(1).call(1).left(1).woken(1).came(1).left(1, SwitchReason::kPreempted).came(1)), 0U);
  EXPECT_EQ(missing(Turn().call(1).left(1)), 0U) << "nobody knows how it began";
  EXPECT_EQ(missing(Turn().woken(1).came(1)), 0U);
  EXPECT_EQ(missing(Turn().left(1).woken(1).came(1)), 0U);
  EXPECT_EQ(missing(Turn().left(1).came(1)), 0U) << "it was woken just before it left, and that before the first event";
}

TEST(MissingChanges, AWakeUpMayComeBeforeTheSwitch) {
  EXPECT_EQ(missing(Turn().came(1).woken(1).left(1).came(1)), 0U);
  EXPECT_EQ(missing(Turn().came(1).woken(1).left(1).came(1).left(1).came(1)), 1U) << "of the second sleep";
}

TEST(MissingChanges, WhatCannotFollowIsCounted) {
  EXPECT_EQ(missing(Turn().came(1).left(1).woken(1).call(1)), 1U) << "it did not come";
  EXPECT_EQ(missing(Turn().came(1).left(1).woken(1).left(1)), 1U) << "nor here";
  EXPECT_EQ(missing(Turn().came(1).left(1).call(1)), 1U) << "nor was it woken: both are seen as one";
  EXPECT_EQ(missing(Turn().came(1).left(1).came(1)), 1U) << "it was not woken";
  EXPECT_EQ(missing(Turn().came(1).came(1)), 1U) << "it did not leave";
  for (auto kind : {KernelEventKind::kUserFault, KernelEventKind::kKernelFault, KernelEventKind::kProcessStart,
                    KernelEventKind::kThreadExit}) {
    EXPECT_EQ(missing(Turn().left(1).of(kind, 1)), 1U) << static_cast<int>(kind);
  }
  for (auto kind : {KernelEventKind::kRename, KernelEventKind::kSyscallUnderWay}) {
    EXPECT_EQ(missing(Turn().left(1).of(kind, 1)), 0U) << static_cast<int>(kind);
  }
}

TEST(MissingChanges, EachThreadByItself) {
  EXPECT_EQ(missing(Turn().came(1).left(1, SwitchReason::kSleeps, kChosenProcess.pid, 2).call(2).left(2)), 0U);
  EXPECT_EQ(missing(Turn().came(2).left(1, SwitchReason::kSleeps, kChosenProcess.pid, 2)), 1U);
}

TEST(MissingChanges, AThreadOfTheSameNumberBeginsAnew) {
  Turn ended = Turn().came(1).of(KernelEventKind::kThreadExit, 1).left(1, SwitchReason::kEnded);
  EXPECT_EQ(missing(Turn(ended).of(KernelEventKind::kThreadStart, 1).came(1)), 0U);
  EXPECT_EQ(missing(Turn(ended).call(1)), 0U) << "another thread has called exec()";
  EXPECT_EQ(missing(Turn().came(1).left(1).of(KernelEventKind::kExec, 1).left(1)), 0U);
  EXPECT_EQ(missing(Turn().came(1).of(KernelEventKind::kThreadStart, 1).came(1)), 0U);
}

TEST(MissingChanges, OnlyWithinTheTimeOfWhichAllIsThere) {
  Turn turn = Turn().came(1).left(1).came(1).left(1).came(1);  // at 1'010, 1'020, ...
  EXPECT_EQ(missing(turn), 2U);
  EXPECT_EQ(missing(turn, 1'025), 1U);
  EXPECT_EQ(missing(turn, 0, 1'050), 1U);
}

TEST(MissingChanges, BetweenTwoChoicesNothingIsTold) {
  Turn turn = Turn().came(1).left(1).call(1);
  ChoiceFilter filter = chosen(0, 1'025);
  filter.add({kChosenProcess, 1'028, UINT64_MAX});
  EXPECT_EQ(missing_changes(turn.events, filter, 0, UINT64_MAX), 0U);
}

// A few threads that sleep, are preempted and call the system; whichever change is taken out, it is noticed.
TEST(MissingChanges, OfARandomHistoryEachChangeIsMissed) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Turn turn;
    for (int32_t tid : {1, 2, 3}) turn.came(tid).call(tid);
    for (int i = 0; i < 60; ++i) {
      const auto tid = static_cast<int32_t>(random() % 3 + 1);
      const bool sleeps = random() % 2 == 0;
      turn.left(tid, sleeps ? SwitchReason::kUninterruptible : SwitchReason::kPreempted);
      if (sleeps) turn.woken(tid);
      turn.came(tid).call(tid);
    }
    ASSERT_EQ(missing(turn), 0U) << seed;
    for (size_t at = 6; at < turn.events.size(); ++at) {
      if (turn.events[at].kind == KernelEventKind::kSyscall) continue;
      Turn without = turn;
      without.events.erase(without.events.begin() + static_cast<ptrdiff_t>(at));
      EXPECT_EQ(missing(without), 1U) << seed << ", " << at;
    }
  }
}

}  // namespace
}  // namespace fathom::agent::kernel
