#include "query/timeline/wait_sums.h"

#include <gtest/gtest.h>

namespace fathom::query {
namespace {

using capture::KernelEvent;
using capture::KernelEventKind;

KernelEvent ender(int32_t tid) {
  return {.kind = KernelEventKind::kWoken, .other_pid = tid == 0 ? 0 : 7, .other_tid = tid};
}

// Waits of one thread, with 1 ns between each two.
class WaitsOfThread {
 public:
  void add(StateInterval wait, uint64_t duration_nano, std::string_view in = {}) {
    wait.begin_nano = next_nano_;
    wait.end_nano = next_nano_ + duration_nano;
    next_nano_ = wait.end_nano + 1;
    states_.push_back(wait);
    in_.push_back(in);
  }
  void sleep(uint64_t duration_nano, const KernelEvent* waker, std::string_view in = "futex") {
    add({.state = ThreadState::kSleeping, .waker = waker}, duration_nano, in);
  }
  WaitSums sums(uint64_t begin_nano = 0, uint64_t end_nano = UINT64_MAX) {
    const StateIndex index(states_);
    Meter meter(budget_);
    return WaitSummer(index, in_, meter).sums(begin_nano, end_nano);
  }
  const std::vector<StateInterval>& states() const { return states_; }
  const std::vector<std::string_view>& in() const { return in_; }

 private:
  uint64_t next_nano_ = 1;
  std::vector<StateInterval> states_;
  std::vector<std::string_view> in_;
  store::QueryBudget budget_;
};

TEST(WaitSums, ManyShortWaitsStandBeforeALongOne) {
  const KernelEvent timer = ender(0), holder = ender(8);
  WaitsOfThread thread;
  for (int i = 0; i < 100; ++i) thread.sleep(i == 50 ? 7 : 5, &timer, "clock_nanosleep");
  thread.sleep(100, &holder);
  const WaitSums waits = thread.sums();
  ASSERT_EQ(waits.sums.size(), 2u);
  EXPECT_EQ(waits.sums[0].in, "clock_nanosleep");
  EXPECT_EQ(waits.sums[0].count, 100u);
  EXPECT_EQ(waits.sums[0].total_nano, 502u);
  EXPECT_EQ(waits.sums[0].longest.duration_nano(), 7u);
  EXPECT_EQ(waits.sums[0].longest.begin_nano, 1 + 50 * 6u);
  EXPECT_EQ(waits.sums[1].total_nano, 100u);
  EXPECT_EQ(waits.sums[1].count, 1u);
}

TEST(WaitSums, WhoeverElseEndsAWaitHasASumOfItsOwn) {
  const KernelEvent timer = ender(0), packet = ender(0), one = ender(8), other = ender(9);
  WaitsOfThread thread;
  thread.sleep(10, &one);
  thread.sleep(20, &other);
  thread.sleep(30, &one);
  thread.sleep(1, &one, "poll");
  thread.sleep(2, nullptr);
  thread.sleep(3, &timer);
  thread.sleep(4, &packet);
  const WaitSums waits = thread.sums();
  std::vector<uint64_t> totals;
  for (const WaitSum& sum : waits.sums) totals.push_back(sum.total_nano);
  EXPECT_EQ(totals, (std::vector<uint64_t>{40, 20, 7, 2, 1})) << "both interrupts together";
}

TEST(WaitSums, WaitsForAProcessorAreAlikeByTheirCause) {
  const KernelEvent one = ender(8), other = ender(9);
  WaitsOfThread thread;
  thread.add({.state = ThreadState::kRunnable, .waker = &one}, 5, "futex");
  thread.add({.state = ThreadState::kRunnable, .waker = &other}, 6, "poll");
  thread.add({.state = ThreadState::kRunnable, .cause = RunnableCause::kThrottled}, 20);
  const WaitSums waits = thread.sums();
  ASSERT_EQ(waits.sums.size(), 2u);
  EXPECT_EQ(waits.sums[0].longest.cause, RunnableCause::kThrottled);
  EXPECT_EQ(waits.sums[1].total_nano, 11u) << "who made it runnable does not keep it from running";
  EXPECT_EQ(waits.sums[1].longest.waker, nullptr);
  EXPECT_EQ(waits.sums[1].in, "");
}

TEST(WaitSums, WaitsAreCutToWhatIsAskedFor) {
  WaitsOfThread thread;
  thread.add({.state = ThreadState::kSleeping, .guessed = true}, 10);
  thread.sleep(10, nullptr, "");
  thread.add({.state = ThreadState::kRunning}, 10);
  const WaitSums waits = thread.sums(6, 17);
  ASSERT_EQ(waits.sums.size(), 1u);
  EXPECT_EQ(waits.sums[0].count, 2u);
  EXPECT_EQ(waits.sums[0].total_nano, 10u) << "5 ns of each";
  EXPECT_EQ(waits.sums[0].guessed_nano, 5u);
  EXPECT_TRUE(thread.sums(24, 30).sums.empty()) << "it runs";
}

TEST(WaitSums, WhatIsBeyondTheListIsCounted) {
  std::vector<KernelEvent> enders;
  for (int32_t tid = 1; tid <= 2'000; ++tid) enders.push_back(ender(tid));
  WaitsOfThread thread;
  for (const KernelEvent& waker : enders) thread.sleep(static_cast<uint64_t>(waker.other_tid), &waker);
  const WaitSums waits = thread.sums();
  ASSERT_EQ(waits.sums.size(), kMostWaitSums);
  uint64_t listed_nano = 0;
  for (const WaitSum& sum : waits.sums) listed_nano += sum.total_nano;
  EXPECT_EQ(waits.more_count, 2'000 - kMostWaitSums);
  EXPECT_EQ(listed_nano + waits.more_nano, 2'000 * 2'001 / 2u);
}

TEST(WaitSums, WhatIsNotKeptIsCounted) {
  std::vector<KernelEvent> enders;
  for (int32_t tid = 1; tid <= 10; ++tid) enders.push_back(ender(tid));
  WaitsOfThread thread;
  for (const KernelEvent& waker : enders) {
    for (int i = 0; i < 2; ++i) thread.sleep(static_cast<uint64_t>(waker.other_tid), &waker);
  }
  WaitSums waits = thread.sums();
  waits.keep(3);
  ASSERT_EQ(waits.sums.size(), 3u);
  EXPECT_EQ(waits.sums[2].total_nano, 16u);
  EXPECT_EQ(waits.more_count, 14u);
  EXPECT_EQ(waits.more_nano, 2 * (1 + 2 + 3 + 4 + 5 + 6 + 7u));
  waits.keep(8);
  EXPECT_EQ(waits.sums.size(), 3u);
  EXPECT_EQ(waits.more_count, 14u);
}

// The work is bounded, whatever the number of spans around all of a thread's states.
TEST(WaitSums, TheWorkForOneThreadIsBounded) {
  WaitsOfThread thread;
  for (int i = 0; i < 10'000; ++i) thread.sleep(5, nullptr);
  const StateIndex index(thread.states());
  store::QueryBudget budget;
  Meter meter(budget);
  WaitSummer summer(index, thread.in(), meter);
  size_t done = 0;
  for (int span = 0; span < 1'000; ++span) done += summer.sums(0, UINT64_MAX).left_out ? 0 : 1;
  EXPECT_EQ(done, 16u);
  EXPECT_TRUE(summer.sums(0, UINT64_MAX).left_out);
  EXPECT_FALSE(summer.sums(0, 60).left_out) << "this is little work";
}

}  // namespace
}  // namespace fathom::query
