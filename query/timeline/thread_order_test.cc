#include "query/timeline/thread_order.h"

#include <gtest/gtest.h>

namespace fathom::query {
namespace {

using capture::KernelEvent;
using capture::KernelEventKind;

KernelEvent woken_by(int32_t tid) {
  return {.kind = KernelEventKind::kWoken, .other_pid = 7, .other_tid = tid};
}

TimelineState waits(uint64_t begin, uint64_t end, const KernelEvent& waker) {
  return {.interval = {.state = ThreadState::kSleeping, .begin_nano = begin, .end_nano = end, .waker = &waker}};
}

TimelineThread thread_of(uint32_t tid, std::vector<TimelineState> states = {}) {
  TimelineThread thread{.tid = tid};
  thread.states = std::move(states);
  return thread;
}

TimelineThread serving(uint32_t tid, uint64_t begin, uint64_t end, std::vector<TimelineState> states = {}) {
  TimelineThread thread = thread_of(tid, std::move(states));
  thread.of_trace = true;
  thread.spans.push_back({.begin_unix_nano = begin, .end_unix_nano = end});
  return thread;
}

class ThreadOrderTest : public ::testing::Test {
 protected:
  // The tids of one process's threads, with the nanoseconds of waits that they ended: "4, 9 (50), 2".
  std::string order_of(std::vector<TimelineThread> threads) {
    Timeline timeline;
    timeline.processes.push_back({.pid = 7});
    timeline.processes[0].threads = std::move(threads);
    EXPECT_TRUE(order_threads(timeline, budget_).ok());
    std::string text;
    for (const TimelineThread& thread : timeline.processes[0].threads) {
      text += (text.empty() ? "" : ", ") + std::to_string(thread.tid);
      if (thread.ended_waits_nano > 0) text += " (" + std::to_string(thread.ended_waits_nano) + ")";
    }
    return text;
  }

  const KernelEvent by_4_ = woken_by(4), by_5_ = woken_by(5), by_6_ = woken_by(6), by_8_ = woken_by(8);
  const KernelEvent by_interrupt_ = woken_by(0), by_stranger_ = woken_by(99);
  store::QueryBudget budget_;
};

TEST_F(ThreadOrderTest, ThreadsOfTheTraceComeFirstByTheirSpans) {
  EXPECT_EQ(order_of({thread_of(1), serving(2, 50, 60), serving(3, 10, 90), thread_of(4)}), "3, 2, 1, 4");
}

TEST_F(ThreadOrderTest, WhoEndedMoreOfTheWaitComesBeforeOthers) {
  EXPECT_EQ(order_of({thread_of(1), thread_of(4), thread_of(5),
                      serving(8, 0, 100, {waits(0, 20, by_4_), waits(20, 70, by_5_), waits(75, 80, by_4_)})}),
            "8, 5 (50), 4 (25), 1");
}

TEST_F(ThreadOrderTest, AChainIsFollowedToItsEnd) {
  EXPECT_EQ(order_of({thread_of(1), thread_of(4, {waits(0, 90, by_5_)}), thread_of(5, {waits(20, 60, by_6_)}),
                      thread_of(6, {waits(0, 200, by_8_)}), serving(8, 0, 100, {waits(10, 95, by_4_)})}),
            "8 (40), 4 (85), 5 (80), 6 (40), 1")
      << "thread 5 was waited for from 10 to 90, thread 6 from 20 to 60, and that by the first again";
}

TEST_F(ThreadOrderTest, OnlyWaitsWhileASpanLastedCount) {
  EXPECT_EQ(order_of({thread_of(4), thread_of(5), serving(8, 50, 60, {waits(0, 40, by_4_), waits(55, 100, by_5_)})}),
            "8, 5 (5), 4");
}

TEST_F(ThreadOrderTest, InterruptsStrangersAndQueuesCountForNobody) {
  TimelineState queue = waits(60, 80, by_4_);
  queue.interval.state = ThreadState::kRunnable;
  EXPECT_EQ(order_of({thread_of(4), serving(8, 0, 100,
                                            {waits(0, 20, by_interrupt_), waits(20, 60, by_stranger_), queue,
                                             waits(80, 90, by_8_)})}),
            "8, 4");
}

TEST_F(ThreadOrderTest, AWakerOfAnotherNodeIsAnotherThread) {
  Timeline timeline;
  timeline.processes.push_back({.pid = 7});
  timeline.processes.push_back({.pid = 7});
  timeline.processes[1].node_id.bytes[0] = 1;
  timeline.processes[0].threads = {serving(8, 0, 100, {waits(0, 20, by_4_)})};
  timeline.processes[1].threads = {thread_of(4)};
  ASSERT_TRUE(order_threads(timeline, budget_).ok());
  EXPECT_EQ(timeline.processes[1].threads[0].ended_waits_nano, 0u);
}

TEST_F(ThreadOrderTest, OfStatesThatOverlapEachMomentCountsOnce) {
  EXPECT_EQ(order_of({thread_of(4), serving(8, 0, 100, {waits(0, 50, by_4_), waits(10, 60, by_4_)})}), "8, 4 (60)");
}

TEST_F(ThreadOrderTest, WhoeverHasGoneIsNotWorkedFor) {
  Timeline timeline;
  timeline.processes.push_back({.pid = 7});
  timeline.processes[0].threads = {serving(8, 0, 100)};
  budget_.cancel();
  auto ordered = order_threads(timeline, budget_);
  ASSERT_FALSE(ordered.ok());
  EXPECT_EQ(ordered.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace fathom::query
