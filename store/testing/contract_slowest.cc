// slowest(): order, ties, ranges, limits of duration, and what a row says.
#include "store/testing/contract.h"

namespace fathom::store::testing {
namespace {

TEST_P(StoreContract, AnEmptyStoreAnswersWithNothing) {
  always([&] {
    EXPECT_EQ(slowest_ids(), Ids{});
    EXPECT_EQ(slowest_ids({}, By::kSpan), Ids{});
    EXPECT_EQ(ids(find()), Ids{});
    EXPECT_FALSE(is_stored(1));
    EXPECT_TRUE(operations().empty());
    EXPECT_TRUE(latency({}, kNanosPerMinute).empty());
  });
}

TEST_P(StoreContract, TheSlowestComeFirst) {
  add({test_span(1, 1, 0, 10), test_span(2, 1, 0, 30)});
  add({test_span(3, 1, 0, 20), test_span(4, 1, 0, 0)});
  always([&] {
    EXPECT_EQ(slowest_ids(), (Ids{"2:1", "3:1", "1:1", "4:1"}));
    EXPECT_EQ(slowest_ids({}, By::kSpan), (Ids{"2:1", "3:1", "1:1", "4:1"}));
  });
}

TEST_P(StoreContract, TiesGoByStartThenTraceThenSpan) {
  add({test_span(9, 1, 0, 10), test_span(5, 1, 1, 10), test_span(4, 1, 1, 10)});
  add({test_span(3, 7, 1, 10), test_span(3, 2, 1, 10)});
  always([&] {
    EXPECT_EQ(slowest_ids(), (Ids{"9:1", "3:2", "4:1", "5:1"}));
    EXPECT_EQ(slowest_ids({}, By::kSpan), (Ids{"9:1", "3:2", "3:7", "4:1", "5:1"}));
  });
}

TEST_P(StoreContract, TiesInIdsGoByBytesNotBySign) {
  TestSpan high = test_span(1, 1, 0, 10);
  high.trace_id.bytes[0] = 0xff;
  add({high, test_span(2, 1, 0, 10)});
  always([&] { EXPECT_EQ(slowest_ids(), (Ids{"2:1", "1:1"})); });
}

TEST_P(StoreContract, ATraceLastsFromItsEarliestStartToItsLatestEnd) {
  // The root is neither the first to start nor the last to end.
  add({test_span(1, 1, 100, 50), test_span(1, 2, 90, 5).parent(1).failed()});
  add({test_span(1, 3, 120, 200).parent(1).of_service("stock").named("SELECT")});
  always([&] {
    SlowRow row = only_row();
    EXPECT_EQ(row.start_unix_nano, kTestNow + 90);
    EXPECT_EQ(row.duration_nano, 230u);
    EXPECT_EQ(row.root_duration_nano, 50u);
    EXPECT_EQ(row.span_id, test_span_id(1));
    EXPECT_EQ(row.service, "shop");
    EXPECT_EQ(row.operation, "GET /");
    EXPECT_EQ(row.spans, 3u);
    EXPECT_TRUE(row.error);
    EXPECT_TRUE(row.complete);
  });
}

TEST_P(StoreContract, ASpanRowSpeaksOfTheSpanAndItsTrace) {
  add({test_span(1, 1, 0, 50), test_span(1, 2, 10, 300).parent(1).of_service("stock").named("SELECT").failed()});
  always([&] {
    std::vector<SlowRow> rows = slowest({}, By::kSpan);
    ASSERT_EQ(ids(rows), (Ids{"1:2", "1:1"}));
    EXPECT_EQ(rows[0].start_unix_nano, kTestNow + 10);
    EXPECT_EQ(rows[0].duration_nano, 300u);
    EXPECT_EQ(rows[0].root_duration_nano, 50u);
    EXPECT_EQ(rows[0].service, "stock");
    EXPECT_EQ(rows[0].operation, "SELECT");
    EXPECT_EQ(rows[0].spans, 2u);
    EXPECT_TRUE(rows[0].error);
    EXPECT_TRUE(rows[0].complete);
    EXPECT_FALSE(rows[1].error);
  });
}

// Different spans that one id, one start and one duration make one row.
TEST_P(StoreContract, SpansInOneRowAreNamedByTheOperationReceivedFirst) {
  add({test_span(1, 1, 0, 10).named("b"), test_span(1, 1, 0, 10).named("a"), test_span(2, 1, 0, 20).named("a"),
       test_span(2, 1, 0, 20).named("b")});
  always([&] {
    auto rows = slowest({}, By::kSpan);
    ASSERT_EQ(rows.size(), 2u);
    for (const SlowRow& row : rows) EXPECT_EQ(row.operation, "b") << number_of(row.trace_id);
  });
}

TEST_P(StoreContract, WithoutARootTheEarliestSpanIsShown) {
  add({test_span(1, 2, 50, 10).parent(1).named("late"), test_span(1, 3, 40, 10).parent(1).named("early")});
  always([&] {
    SlowRow row = only_row();
    EXPECT_EQ(row.span_id, test_span_id(3));
    EXPECT_EQ(row.operation, "early");
    EXPECT_EQ(row.root_duration_nano, 0u);
    EXPECT_FALSE(row.complete);
  });
}

TEST_P(StoreContract, OfSeveralRootsTheEarliestIsTheRoot) {
  add({test_span(1, 5, 10, 7), test_span(1, 4, 10, 8), test_span(1, 3, 20, 9), test_span(1, 2, 0, 1).parent(3)});
  always([&] {
    SlowRow row = only_row();
    EXPECT_EQ(row.span_id, test_span_id(4));
    EXPECT_EQ(row.root_duration_nano, 8u);
  });
}

TEST_P(StoreContract, ATraceThatGrowsMovesUp) {
  add({test_span(1, 1, 0, 10), test_span(2, 1, 0, 20)});
  ASSERT_TRUE(store().settle().ok());
  EXPECT_EQ(slowest_ids(), (Ids{"2:1", "1:1"}));
  add({test_span(1, 2, 5, 100).parent(1)});
  always([&] {
    std::vector<SlowRow> rows = slowest();
    ASSERT_EQ(ids(rows), (Ids{"1:1", "2:1"}));
    EXPECT_EQ(rows[0].duration_nano, 105u);
    EXPECT_EQ(rows[0].spans, 2u);
  });
}

TEST_P(StoreContract, ATraceThatGrowsLeavesTheRangesItWasIn) {
  add({test_span(1, 1, 100, 10)});
  ASSERT_TRUE(store().settle().ok());
  Filter from_100 = in_range(kTestNow + 100, UINT64_MAX);
  EXPECT_EQ(slowest_ids(from_100), Ids{"1:1"});
  add({test_span(1, 2, 50, 1).parent(1)});
  always([&] {
    EXPECT_EQ(slowest_ids(from_100), Ids{});
    EXPECT_EQ(slowest_ids(from_100, By::kSpan), Ids{"1:1"});
    Filter short_ones;
    short_ones.max_duration_nano = 10;
    EXPECT_EQ(slowest_ids(short_ones), Ids{});
  });
}

TEST_P(StoreContract, ARangeTakesItsFirstNanosecondAndNotItsLast) {
  add({test_span(1, 1, 0, 1), test_span(2, 1, 10, 2), test_span(3, 1, 20, 3)});
  always([&] {
    Filter filter = in_range(kTestNow, kTestNow + 20);
    EXPECT_EQ(slowest_ids(filter), (Ids{"2:1", "1:1"}));
    EXPECT_EQ(slowest_ids(filter, By::kSpan), (Ids{"2:1", "1:1"}));
    filter.range = {kTestNow + 1, kTestNow + 21};
    EXPECT_EQ(slowest_ids(filter), (Ids{"3:1", "2:1"}));
    filter.range = {kTestNow + 10, kTestNow + 10};
    EXPECT_EQ(slowest_ids(filter), Ids{});
    filter.range = {kTestNow + 20, kTestNow};
    EXPECT_EQ(slowest_ids(filter, By::kSpan), Ids{});
  });
}

TEST_P(StoreContract, ATraceIsInARangeByItsEarliestStartASpanByItsOwn) {
  add({test_span(1, 1, 0, 100), test_span(1, 2, 50, 10).parent(1)});
  always([&] {
    Filter late = in_range(kTestNow + 50, kTestNow + 60);
    EXPECT_EQ(slowest_ids(late), Ids{});
    EXPECT_EQ(slowest_ids(late, By::kSpan), Ids{"1:2"});
    Filter early = in_range(kTestNow, kTestNow + 1);
    EXPECT_EQ(slowest_ids(early), Ids{"1:1"});
    EXPECT_EQ(slowest_ids(early, By::kSpan), Ids{"1:1"});
  });
}

TEST_P(StoreContract, RangesOverManyMinutesAndHours) {
  std::vector<TestSpan> spans;
  for (uint64_t i = 0; i < 200; ++i) {
    spans.push_back(test_span(i + 1, 1, static_cast<int64_t>(i * kNanosPerMinute + i), 1000 + (i * 7919) % 500));
  }
  add(spans);
  always([&] {
    for (uint64_t from = 0; from < 200; from += 23) {
      for (uint64_t minutes : {1, 2, 59, 60, 61, 150}) {
        Filter filter =
            in_range(kTestNow + from * kNanosPerMinute + from, kTestNow + (from + minutes) * kNanosPerMinute);
        std::vector<SlowRow> rows = slowest(filter);
        uint64_t expected = std::min<uint64_t>(minutes, 200 - from);
        ASSERT_EQ(rows.size(), expected) << "from minute " << from << " for " << minutes;
        for (size_t i = 1; i < rows.size(); ++i) ASSERT_GE(rows[i - 1].duration_nano, rows[i].duration_nano);
      }
    }
  });
}

TEST_P(StoreContract, DurationLimitsAreInclusiveAndOfWhatIsAskedFor) {
  add({test_span(1, 1, 0, 10), test_span(1, 2, 90, 10).parent(1), test_span(2, 1, 0, 20)});
  always([&] {
    Filter filter;
    filter.min_duration_nano = 20;
    EXPECT_EQ(slowest_ids(filter), (Ids{"1:1", "2:1"}));
    EXPECT_EQ(slowest_ids(filter, By::kSpan), Ids{"2:1"});
    filter.max_duration_nano = 20;
    EXPECT_EQ(slowest_ids(filter), Ids{"2:1"});
    filter.min_duration_nano = 21;
    filter.max_duration_nano = 99;
    EXPECT_EQ(slowest_ids(filter), Ids{});
    filter.max_duration_nano = 100;
    EXPECT_EQ(slowest_ids(filter), Ids{"1:1"});
    filter.min_duration_nano = 0;
    filter.max_duration_nano = 10;
    EXPECT_EQ(slowest_ids(filter, By::kSpan), (Ids{"1:1", "1:2"}));
    filter.min_duration_nano = 11;
    EXPECT_EQ(slowest_ids(filter, By::kSpan), Ids{});
  });
}

TEST_P(StoreContract, LimitsOfAnySize) {
  add({test_span(1, 1, 0, 10), test_span(2, 1, 0, 20), test_span(3, 1, 0, 30)});
  always([&] {
    for (By by : {By::kTrace, By::kSpan}) {
      SlowPage none = page({}, by, 0);
      EXPECT_TRUE(none.rows.empty());
      EXPECT_FALSE(none.next);
      EXPECT_EQ(ids(page({}, by, 2).rows), (Ids{"3:1", "2:1"}));
      EXPECT_TRUE(page({}, by, 2).next);
      EXPECT_FALSE(page({}, by, 3).next);
      SlowPage all = page({}, by, SIZE_MAX);
      EXPECT_EQ(all.rows.size(), 3u);
      EXPECT_FALSE(all.next);
      EXPECT_EQ(find({}, by, 0).size(), 0u);
      EXPECT_EQ(find({}, by, 2).size(), 2u);
      EXPECT_EQ(find({}, by, SIZE_MAX).size(), 3u);
    }
  });
}

TEST_P(StoreContract, MoreRowsThanAnyListHolds) {
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= 700; ++i) spans.push_back(test_span(i, 1, static_cast<int64_t>(i % 3), i));
  add(spans);
  always([&] {
    std::vector<SlowRow> rows = slowest({}, By::kTrace, 650);
    ASSERT_EQ(rows.size(), 650u);
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i].duration_nano, 700 - i);
    Filter filter;
    filter.max_duration_nano = 100;
    EXPECT_EQ(slowest(filter, By::kTrace, 5).front().duration_nano, 100u);
    EXPECT_EQ(slowest(filter, By::kSpan, 5).front().duration_nano, 100u);
    EXPECT_EQ(slowest(filter, By::kSpan).size(), 100u);
  });
}

TEST_P(StoreContract, FindGivesTheNewestFirst) {
  add({test_span(1, 1, 0, 10), test_span(2, 1, 20, 5), test_span(3, 1, 20, 7)});
  add({test_span(4, 2, 20, 7), test_span(4, 1, 10, 1).parent(2)});
  always([&] {
    EXPECT_EQ(ids(find()), (Ids{"2:1", "3:1", "4:2", "1:1"}));
    EXPECT_EQ(ids(find({}, By::kSpan)), (Ids{"2:1", "3:1", "4:2", "4:1", "1:1"}));
    EXPECT_EQ(ids(find({}, By::kSpan, 2)), (Ids{"2:1", "3:1"}));
    Filter filter;
    filter.min_duration_nano = 7;
    EXPECT_EQ(ids(find(filter, By::kSpan)), (Ids{"3:1", "4:2", "1:1"}));
  });
}

}  // namespace
}  // namespace fathom::store::testing
