// Clocks that are off: corrected times, times at both ends of 64 bits, ends before starts.
#include "store/testing/contract.h"

namespace fathom::store::testing {
namespace {

TEST_P(StoreContract, RangesAndStartsAreInCorrectedTime) {
  add({test_span(1, 1, 0, 10)}, ClockOffset{1'000'000, 5});
  add({test_span(2, 1, 0, 20)}, ClockOffset{-1'000'000, 5});
  add({test_span(3, 1, 0, 30)});
  always([&] {
    EXPECT_EQ(slowest_ids(in_range(kTestNow + 1'000'000, kTestNow + 1'000'001)), Ids{"1:1"});
    EXPECT_EQ(slowest_ids(in_range(kTestNow - 1'000'000, kTestNow), By::kSpan), Ids{"2:1"});
    EXPECT_EQ(slowest().at(2).start_unix_nano, kTestNow + 1'000'000);
    StoredTrace found = trace(1);
    EXPECT_EQ(found.start_unix_nano, kTestNow + 1'000'000);
    EXPECT_EQ(found.spans.at(0).span.start_unix_nano, kTestNow);
    EXPECT_EQ(found.spans.at(0).clock, (ClockOffset{1'000'000, 5}));
    EXPECT_FALSE(trace(3).spans.at(0).clock);
  });
}

TEST_P(StoreContract, ATraceOverTwoClocksIsOrderedByCorrectedTime) {
  add({test_span(1, 1, 0, 1000)}, ClockOffset{0, 1});
  // Sent as before its parent, because its clock is behind.
  add({test_span(1, 2, -500, 100).parent(1)}, ClockOffset{700, 1});
  always([&] {
    StoredTrace found = trace(1);
    ASSERT_EQ(found.spans.size(), 2u);
    EXPECT_EQ(found.spans[0].span.span_id, test_span_id(1));
    EXPECT_EQ(found.start_unix_nano, kTestNow);
    EXPECT_EQ(found.duration_nano, 1000u);
    EXPECT_EQ(only_row().duration_nano, 1000u);
  });
}

TEST_P(StoreContract, OneRowSentUnderTwoClocksIsTwoRows) {
  add({test_span(1, 1, 0, 10)}, ClockOffset{5, 1});
  add({test_span(1, 1, 0, 10)}, ClockOffset{6, 1});
  always([&] {
    EXPECT_EQ(trace(1).spans.size(), 2u);
    EXPECT_EQ(trace(1).duration_nano, 11u);
    EXPECT_EQ(slowest_ids({}, By::kSpan), (Ids{"1:1", "1:1"}));
  });
}

TEST_P(StoreContract, AnEndBeforeTheStartTakesNoTime) {
  TestSpan backwards = test_span(1, 1, 100, 0);
  backwards.end_unix_nano = kTestNow;
  add({backwards, test_span(1, 2, 90, 5).parent(1)});
  always([&] {
    StoredTrace found = trace(1);
    EXPECT_EQ(found.start_unix_nano, kTestNow + 90);
    EXPECT_EQ(found.duration_nano, 10u);
    ASSERT_EQ(found.spans.size(), 2u);
    EXPECT_EQ(found.spans[1].span.end_unix_nano, kTestNow);
    SlowRow row = slowest({}, By::kSpan).back();
    EXPECT_EQ(row.span_id, test_span_id(1));
    EXPECT_EQ(row.duration_nano, 0u);
    EXPECT_EQ(only_row().root_duration_nano, 0u);
  });
}

TEST_P(StoreContract, ClocksThatAreYearsOff) {
  TestSpan zero = test_span(1, 1, 0, 0);
  zero.start_unix_nano = 0;
  zero.end_unix_nano = 7;
  TestSpan far = test_span(2, 1, 0, 0);
  far.start_unix_nano = UINT64_MAX - 10;
  far.end_unix_nano = UINT64_MAX;
  TestSpan whole = test_span(3, 1, 0, 0);
  whole.start_unix_nano = 0;
  whole.end_unix_nano = UINT64_MAX;
  TestSpan future = test_span(4, 1, static_cast<int64_t>(20 * 365 * 24 * kNanosPerHour), 5);
  add({zero, far, whole, future, test_span(5, 1, 0, 6)});
  always([&] {
    EXPECT_EQ(slowest_ids(), (Ids{"3:1", "2:1", "1:1", "5:1", "4:1"}));
    EXPECT_EQ(slowest_ids({}, By::kSpan), (Ids{"3:1", "2:1", "1:1", "5:1", "4:1"}));
    EXPECT_EQ(slowest().front().duration_nano, UINT64_MAX);
    EXPECT_EQ(slowest_ids(in_range(0, 1)), (Ids{"3:1", "1:1"}));
    EXPECT_EQ(slowest_ids(in_range(UINT64_MAX - 10, UINT64_MAX)), Ids{"2:1"});
    EXPECT_EQ(slowest_ids(in_range(kTestNow, kTestNow + kNanosPerHour)), Ids{"5:1"});
    EXPECT_EQ(latency({}, kNanosPerMinute).size(), 4u);
    EXPECT_EQ(operations({}).at(0).spans, 5u);
    EXPECT_EQ(operations({UINT64_MAX - 1, UINT64_MAX}).at(0).spans, 1u);
  });
}

TEST_P(StoreContract, ATraceFromOneEndOfTimeToTheOther) {
  TestSpan zero = test_span(1, 1, 0, 0);
  zero.start_unix_nano = zero.end_unix_nano = 0;
  TestSpan far = test_span(1, 2, 0, 0).parent(1);
  far.start_unix_nano = UINT64_MAX - 1;
  far.end_unix_nano = UINT64_MAX;
  add({zero});
  ASSERT_TRUE(store().settle().ok());
  add({far});
  always([&] {
    EXPECT_EQ(only_row().duration_nano, UINT64_MAX);
    EXPECT_EQ(only_row().start_unix_nano, 0u);
    EXPECT_EQ(trace(1).spans.size(), 2u);
  });
}

TEST_P(StoreContract, CorrectedTimesStopAtTheEndsOf64Bits) {
  TestSpan early = test_span(1, 1, 0, 0);
  early.start_unix_nano = 100;
  early.end_unix_nano = 150;
  add({early}, ClockOffset{-1000, 0});
  TestSpan late = test_span(2, 1, 0, 0);
  late.start_unix_nano = UINT64_MAX - 100;
  late.end_unix_nano = UINT64_MAX - 40;
  add({late}, ClockOffset{60, 0});
  TestSpan extreme = test_span(3, 1, 0, 40);
  add({extreme}, ClockOffset{INT64_MIN, 0});
  always([&] {
    EXPECT_EQ(trace(1).start_unix_nano, 0u);
    EXPECT_EQ(trace(1).duration_nano, 50u);
    EXPECT_EQ(trace(2).start_unix_nano, UINT64_MAX - 40);
    EXPECT_EQ(trace(2).duration_nano, 40u);
    EXPECT_EQ(trace(3).start_unix_nano, 0u);
    // The span still says how long it took; its trace ends where time does.
    EXPECT_EQ(slowest_ids({}, By::kSpan), (Ids{"2:1", "1:1", "3:1"}));
    EXPECT_EQ(slowest_ids(), (Ids{"1:1", "3:1", "2:1"}));
  });
}

}  // namespace
}  // namespace fathom::store::testing
