// append(), identity, drop_before(), settle(), restarts, and many threads at once.
#include <atomic>
#include <future>
#include <thread>

#include "store/testing/contract.h"

namespace fathom::store::testing {
namespace {

TEST_P(StoreContract, ABatchSentTwiceIsStoredOnce) {
  BatchPtr batch = make_batch({test_span(1, 1, 0, 10)});
  EXPECT_FALSE(append_and_wait(store(), batch).duplicate);
  EXPECT_EQ(store().stats().received_sequence, 1u);
  always([&] {
    AppendResult again = append_and_wait(store(), make_batch({test_span(1, 1, 0, 10)}));
    EXPECT_EQ(again.outcome, AppendOutcome::kDurable);
    EXPECT_TRUE(again.duplicate);
    EXPECT_EQ(store().stats().received_sequence, 1u);
    EXPECT_EQ(only_row().spans, 1u);
    EXPECT_EQ(operations().at(0).spans, 1u);
  });
  harness().advance(kNanosPerHour - 1);
  EXPECT_TRUE(append_and_wait(store(), batch).duplicate);
}

TEST_P(StoreContract, ManyHoursLaterTheSameBatchChangesNoAnswerAboutTraces) {
  BatchPtr batch = make_batch({test_span(1, 1, 0, 10), test_span(1, 2, 5, 20).parent(1)});
  append_and_wait(store(), batch);
  harness().advance(12 * kNanosPerHour);
  EXPECT_EQ(append_and_wait(store(), batch).outcome, AppendOutcome::kDurable);
  always([&] {
    EXPECT_EQ(only_row().spans, 2u);
    EXPECT_EQ(trace(1).spans.size(), 2u);
    EXPECT_FALSE(trace(1).spans.at(0).conflicting);
    EXPECT_EQ(slowest_ids({}, By::kSpan), (Ids{"1:2", "1:1"}));
  });
}

TEST_P(StoreContract, TwoCopiesAtTheSameTimeAreOne) {
  BatchPtr batch = make_batch({test_span(1, 1, 0, 10)});
  std::promise<AppendResult> first, second;
  store().append(batch, [&](AppendResult result) { first.set_value(std::move(result)); });
  store().append(batch, [&](AppendResult result) { second.set_value(std::move(result)); });
  AppendResult a = first.get_future().get(), b = second.get_future().get();
  EXPECT_EQ(a.outcome, AppendOutcome::kDurable);
  EXPECT_EQ(b.outcome, AppendOutcome::kDurable);
  EXPECT_NE(a.duplicate, b.duplicate);
  always([&] { EXPECT_EQ(operations().at(0).spans, 1u); });
}

TEST_P(StoreContract, StatsCountWhatWasReceived) {
  EXPECT_EQ(store().stats().received_sequence, 0u);
  add({test_span(1, 1, 0, 10)});
  add({test_span(2, 1, 0, 10), test_span(3, 1, 0, 10)});
  always([&] {
    StoreStats stats = store().stats();
    EXPECT_EQ(stats.received_sequence, 2u);
    EXPECT_TRUE(stats.writable);
  });
  add({test_span(4, 1, 0, 10)});
  EXPECT_EQ(store().stats().received_sequence, 3u);
}

TEST_P(StoreContract, StatsSayWhatIsOldest) {
  EXPECT_EQ(store().stats().oldest_received_unix_nano, 0u);
  add({test_span(1, 1, 0, 10)});
  harness().advance(2 * kNanosPerHour);
  add({test_span(2, 1, -static_cast<int64_t>(kNanosPerHour), 10)});
  always([&] { EXPECT_EQ(store().stats().oldest_received_unix_nano, kTestNow); });
  ASSERT_TRUE(store().drop_before(kTestNow + 1).ok());
  always([&] { EXPECT_EQ(store().stats().oldest_received_unix_nano, kTestNow + 2 * kNanosPerHour); });
  ASSERT_TRUE(store().drop_before(UINT64_MAX).ok());
  always([&] { EXPECT_EQ(store().stats().oldest_received_unix_nano, 0u); });
}

// Also of what was not sealed when the store was closed.
TEST_P(StoreContract, ARestartMakesNothingYounger) {
  add({test_span(1, 1, 0, 10)});
  harness().advance(kNanosPerHour);
  add({test_span(2, 1, 0, 20)});
  harness().advance(2 * kNanosPerHour);
  harness().reopen();
  add({test_span(3, 1, 0, 30)});
  EXPECT_EQ(slowest_ids(), (Ids{"3:1", "2:1", "1:1"}));
  ASSERT_TRUE(store().drop_before(kTestNow + 1).ok());
  EXPECT_EQ(slowest_ids(), (Ids{"3:1", "2:1"}));
  ASSERT_TRUE(store().drop_before(kTestNow + 2 * kNanosPerHour).ok());
  always([&] { EXPECT_EQ(slowest_ids(), Ids{"3:1"}); });
}

TEST_P(StoreContract, ManyRestartsKeepEverything) {
  for (uint64_t i = 1; i <= 12; ++i) {
    add({test_span(i, 1, 0, 100 - i), test_span(99, i, 0, 1000 + i)});
    if (i % 3 == 0) harness().reopen();
    if (i % 5 == 0) {
      ASSERT_TRUE(store().settle().ok());
    }
  }
  always([&] {
    EXPECT_EQ(slowest({}, By::kTrace).size(), 13u);
    EXPECT_EQ(slowest({}, By::kSpan).size(), 24u);
    EXPECT_EQ(trace(99).spans.size(), 12u);
    EXPECT_EQ(store().stats().received_sequence, 12u);
  });
}

TEST_P(StoreContract, DropBeforeDropsWholePartitionsOnly) {
  add({test_span(1, 1, 0, 10)});
  harness().advance(2 * kNanosPerHour);
  uint64_t second_hour = harness().now_unix_nano();
  add({test_span(2, 1, 0, 20)});
  harness().advance(20 * kNanosPerMinute);
  add({test_span(3, 1, 0, 30)});
  harness().advance(2 * kNanosPerHour);
  add({test_span(4, 1, 0, 40)});
  ASSERT_TRUE(store().settle().ok());

  ASSERT_TRUE(store().drop_before(kTestNow).ok());
  EXPECT_EQ(slowest_ids(), (Ids{"4:1", "3:1", "2:1", "1:1"}));
  ASSERT_TRUE(store().drop_before(kTestNow + 1).ok());
  always([&] {
    EXPECT_EQ(slowest_ids(), (Ids{"4:1", "3:1", "2:1"}));
    EXPECT_FALSE(is_stored(1));
  });
  // Its older half is before this, its newer half is not: the partition stays.
  ASSERT_TRUE(store().drop_before(second_hour + 1).ok());
  always([&] { EXPECT_EQ(slowest_ids(), (Ids{"4:1", "3:1", "2:1"})); });
  ASSERT_TRUE(store().drop_before(second_hour + kNanosPerHour).ok());
  always([&] {
    EXPECT_EQ(slowest_ids(), Ids{"4:1"});
    EXPECT_EQ(slowest_ids({}, By::kSpan), Ids{"4:1"});
    EXPECT_EQ(operations().at(0).spans, 1u);
    EXPECT_EQ(latency({}, kNanosPerMinute).at(0).durations.count(), 1u);
  });
}

TEST_P(StoreContract, DropBeforeGoesByReceptionNotByStart) {
  // Old and future spans, received now.
  add({test_span(1, 1, -static_cast<int64_t>(48 * kNanosPerHour), 10),
       test_span(2, 1, static_cast<int64_t>(48 * kNanosPerHour), 20)});
  harness().advance(3 * kNanosPerHour);
  ASSERT_TRUE(store().drop_before(kTestNow - kNanosPerHour).ok());
  always([&] { EXPECT_EQ(slowest_ids(), (Ids{"2:1", "1:1"})); });
  ASSERT_TRUE(store().drop_before(kTestNow + kNanosPerHour).ok());
  always([&] { EXPECT_EQ(slowest_ids(), Ids{}); });
}

TEST_P(StoreContract, ATraceOverPartitionsLosesOnlyWhatIsDropped) {
  add({test_span(1, 1, 0, 1000), test_span(1, 2, 0, 5).parent(1).failed()});
  harness().advance(2 * kNanosPerHour);
  // The second one is known from before, and goes with its first reception.
  add({test_span(1, 3, 100, 50).parent(1), test_span(1, 2, 0, 5).parent(1).failed(), test_span(2, 1, 0, 1)});
  ASSERT_TRUE(store().settle().ok());
  EXPECT_EQ(slowest().at(0).spans, 3u);
  ASSERT_TRUE(store().drop_before(kTestNow + kNanosPerHour).ok());
  always([&] {
    SlowRow row = slowest().at(0);
    EXPECT_EQ(row.trace_id, test_trace_id(1));
    EXPECT_EQ(row.duration_nano, 50u);
    EXPECT_EQ(row.root_duration_nano, 0u);
    EXPECT_EQ(row.span_id, test_span_id(3));
    EXPECT_EQ(row.spans, 1u);
    EXPECT_FALSE(row.complete);
    EXPECT_FALSE(row.error);
    EXPECT_EQ(trace(1).spans.size(), 1u);
    EXPECT_EQ(trace(1).duration_nano, 50u);
  });
  // Equal to what is no longer stored: a new row.
  add({test_span(1, 2, 0, 5).parent(1).failed()});
  always([&] { EXPECT_EQ(trace(1).spans.size(), 2u); });
}

TEST_P(StoreContract, EverythingCanBeDropped) {
  add({test_span(1, 1, 0, 10)});
  harness().advance(2 * kNanosPerHour);
  ASSERT_TRUE(store().drop_before(harness().now_unix_nano()).ok());
  always([&] {
    EXPECT_EQ(slowest_ids(), Ids{});
    EXPECT_FALSE(is_stored(1));
  });
  add({test_span(1, 2, 0, 30)});
  always([&] { EXPECT_EQ(only_row().duration_nano, 30u); });
}

TEST_P(StoreContract, WhatIsAcknowledgedIsFound) {
  constexpr uint64_t kThreads = 4, kBatches = 40;
  std::atomic<uint64_t> missing = 0;
  auto write = [&](uint64_t thread) {
    for (uint64_t i = 1; i <= kBatches; ++i) {
      uint64_t number = thread * 1000 + i;
      append_and_wait(store(), make_batch({test_span(number, 1, 0, number), test_span(77, number, 0, 5)}));
      QueryBudget budget;
      if (!store().trace(test_trace_id(number), budget).ok()) ++missing;
      Filter filter;
      filter.min_duration_nano = filter.max_duration_nano = number;
      Result<SlowPage> page = store().slowest(filter, By::kSpan, 10, std::nullopt, budget);
      if (!page.ok() || page->rows.size() != 1) ++missing;
    }
  };
  std::vector<std::jthread> threads;
  for (uint64_t thread = 1; thread <= kThreads; ++thread) threads.emplace_back(write, thread);
  ASSERT_TRUE(store().settle().ok());
  threads.clear();
  EXPECT_EQ(missing, 0u);
  always([&] {
    EXPECT_EQ(slowest({}, By::kTrace).size(), kThreads * kBatches + 1);
    EXPECT_EQ(trace(77).spans.size(), kThreads * kBatches);
    EXPECT_EQ(store().stats().received_sequence, kThreads * kBatches);
  });
}

}  // namespace
}  // namespace fathom::store::testing
