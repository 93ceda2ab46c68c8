// Pages by a cursor, while data comes in.
#include <algorithm>
#include <utility>

#include "store/testing/contract.h"

namespace fathom::store::testing {
namespace {

// Long lists as one text, which a failing test shows whole.
std::string joined_text(const Ids& ids) {
  std::string out;
  for (const std::string& id : ids) out += id + " ";
  return out;
}

TEST_P(StoreContract, PagesJoinToTheWholeAnswer) {
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= 90; ++i) {
    // Many ties, which a cursor must cut exactly.
    spans.push_back(test_span(i, 1, static_cast<int64_t>(i % 2), i % 5));
    spans.push_back(test_span(i, 2, static_cast<int64_t>(i % 2), 0).parent(1));
  }
  add(spans);
  always([&] {
    for (By by : {By::kTrace, By::kSpan}) {
      Ids all = ids(slowest({}, by));
      for (size_t limit : {1, 7, 30, 45, 89, 90, 180, 181}) {
        Ids joined;
        std::optional<Cursor> cursor;
        do {
          SlowPage one = page({}, by, limit, cursor);
          ASSERT_LE(one.rows.size(), limit);
          ASSERT_FALSE(one.rows.empty());
          for (const std::string& id : ids(one.rows)) joined.push_back(id);
          cursor = one.next;
        } while (cursor);
        EXPECT_EQ(joined_text(joined), joined_text(all)) << "limit " << limit;
      }
    }
  });
}

// All spans of a page's traces are met again by the next page, which must know them by its cursor alone.
TEST_P(StoreContract, EachTraceOnceByItsSlowestSpan) {
  std::vector<TestSpan> spans;
  Ids expected;
  for (uint64_t i = 1; i <= 40; ++i) {
    expected.insert(expected.begin(), std::to_string(i) + ":3");
    for (uint64_t span = 1; span <= 3; ++span) {
      // The slowest are others' than those that fit.
      spans.push_back(test_span(i, span, 0, 100 * i + span).with({"fits", "yes"}));
      spans.push_back(test_span(41 - i, 10 + span, 0, 10'000 + 100 * i + span));
    }
  }
  for (uint64_t span = 1; span <= 150; ++span)
    spans.push_back(test_span(99, span, 0, 500 + span).with({"fits", "yes"}));
  expected.insert(expected.begin() + 34, "99:150");
  add(spans);
  Filter filter;
  filter.where.push_back({"fits", "yes"});
  always([&] {
    EXPECT_EQ(slowest_ids(filter, By::kSpanOfTrace), expected);
    for (size_t limit : {7, 40, 41}) {
      Ids joined;
      std::optional<Cursor> cursor;
      do {
        SlowPage one = page(filter, By::kSpanOfTrace, limit, cursor);
        ASSERT_FALSE(one.rows.empty());
        for (const std::string& id : ids(one.rows)) joined.push_back(id);
        cursor = one.next;
      } while (cursor);
      EXPECT_EQ(joined_text(joined), joined_text(expected)) << "limit " << limit;
    }
    Filter fast = filter;
    fast.max_duration_nano = 4000;
    EXPECT_EQ(ids(page(fast, By::kSpanOfTrace, 2).rows), (Ids{"39:3", "38:3"})) << "a faster span of it fits";
  });
}

// Many match, slow ones and others: pages end where one kind of block does, too.
TEST_P(StoreContract, PagesOfAConditionJoinToAllThatMatch) {
  constexpr uint64_t kTraces = 1500;
  std::vector<std::pair<uint64_t, uint64_t>> matching;  // duration, trace
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= kTraces; ++i) {
    uint64_t duration = 1 + i * 7919 % kTraces;  // each another
    bool matches = i % 11 == 0;
    if (matches) matching.emplace_back(duration, i);
    spans.push_back(test_span(i, 1, 0, duration).with({"tier", matches ? "canary" : "gold"}));
    if (spans.size() < 300) continue;
    add(std::exchange(spans, {}));
    ASSERT_TRUE(store().settle().ok());
  }
  std::sort(matching.rbegin(), matching.rend());
  Ids expected;
  for (auto [duration, trace] : matching) expected.push_back(std::to_string(trace) + ":1");
  Filter filter;
  filter.where.push_back({"tier", "canary"});
  for (By by : {By::kTrace, By::kSpan}) {
    for (size_t limit : {1, 10, 64, 1000}) {
      Ids joined;
      std::optional<Cursor> cursor;
      do {
        SlowPage one = page(filter, by, limit, cursor);
        for (const std::string& id : ids(one.rows)) joined.push_back(id);
        cursor = one.next;
      } while (cursor);
      EXPECT_EQ(joined_text(joined), joined_text(expected)) << "limit " << limit;
    }
  }
}

TEST_P(StoreContract, PagesNeitherRepeatNorSkipWhileDataComesIn) {
  for (By by : {By::kTrace, By::kSpan}) {
    start({});
    std::vector<TestSpan> spans;
    for (uint64_t i = 1; i <= 60; ++i) spans.push_back(test_span(i, 1, 0, 1000 + i));
    add(spans);
    Ids before = ids(slowest({}, by));
    Ids joined;
    std::optional<Cursor> cursor;
    uint64_t round = 0;
    do {
      SlowPage one = page({}, by, 7, cursor);
      for (const std::string& id : ids(one.rows)) joined.push_back(id);
      cursor = one.next;
      ++round;
      // Rows before, among and after what has been read, and states changing underneath.
      add({test_span(1000 + round, 1, 0, 5000), test_span(2000 + round, 1, 0, 1030), test_span(3000 + round, 1, 0, 1)});
      if (round == 2) {
        ASSERT_TRUE(store().settle().ok());
      }
      if (round == 4) harness().reopen();
    } while (cursor);
    EXPECT_EQ(joined_text(joined), joined_text(before));
  }
}

// Every trace grows after the first page, most of them past the cursor or out of the question: the pages stay those of
// the first one's moment, and a new question sees what is true now.
TEST_P(StoreContract, PagesShowTracesAsTheyWere) {
  for (bool settled : {false, true}) {
    start({});
    std::vector<TestSpan> spans;
    for (uint64_t i = 1; i <= 30; ++i) spans.push_back(test_span(i, 1, 100, 1000 + i));
    add(spans);
    if (settled) {
      ASSERT_TRUE(store().settle().ok());
    }
    Filter filter;
    filter.range = {kTestNow + 50, kTestNow + 1'000'000};
    filter.max_duration_nano = 50'000;
    Ids before = ids(page(filter, By::kTrace, 100).rows);
    ASSERT_EQ(before.size(), 30u);
    SlowPage one = page(filter, By::kTrace, 4);
    Ids joined = ids(one.rows);
    for (uint64_t i = 1; i <= 30; ++i) {
      add({i % 3 == 0   ? test_span(i, 2, 100, 9000 + i)   // before the cursor
           : i % 3 == 1 ? test_span(i, 2, 0, 1000)         // began before the range
                        : test_span(i, 2, 100, 60'000)});  // longer than was asked for
      if (settled && i == 15) {
        ASSERT_TRUE(store().settle().ok());
      }
    }
    while (one.next) {
      one = page(filter, By::kTrace, 4, one.next);
      for (const SlowRow& row : one.rows) EXPECT_EQ(row.spans, 1u);
      for (const std::string& id : ids(one.rows)) joined.push_back(id);
    }
    EXPECT_EQ(joined_text(joined), joined_text(before));
    EXPECT_EQ(ids(page(filter, By::kTrace, 100).rows).size(), 10u);
  }
}

// A trace that came to match only later, by a span in the same segment, is not on the pages of an earlier question.
TEST_P(StoreContract, PagesLeaveOutWhatMatchedLater) {
  for (bool settled : {false, true}) {
    start({});
    add({test_span(1, 1, 0, 300).named("wanted"), test_span(2, 1, 0, 200), test_span(3, 1, 0, 100).named("wanted")});
    Filter filter;
    filter.operation = "wanted";
    SlowPage first = page(filter, By::kTrace, 1);
    add({test_span(2, 2, 0, 150).named("wanted")});
    if (settled) {
      ASSERT_TRUE(store().settle().ok());
    }
    EXPECT_EQ(ids(page(filter, By::kTrace, 10, first.next).rows), Ids{"3:1"});
    EXPECT_EQ(ids(page(filter, By::kTrace, 10).rows), (Ids{"1:1", "2:1", "3:1"}));
  }
}

TEST_P(StoreContract, ACursorHoldsForItsFilter) {
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= 40; ++i) {
    spans.push_back(test_span(i, 1, 0, i).of_service(i % 2 ? "odd" : "even").with({"third", i % 3 ? "no" : "yes"}));
  }
  add(spans);
  Filter filter;
  filter.service = "odd";
  filter.where = {{"third", "yes"}};
  SlowPage first = page(filter, By::kTrace, 3);
  EXPECT_EQ(ids(first.rows), (Ids{"39:1", "33:1", "27:1"}));
  ASSERT_TRUE(first.next);
  add({test_span(100, 1, 0, 5).of_service("odd").with({"third", "yes"})});
  always([&] {
    SlowPage second = page(filter, By::kTrace, 10, first.next);
    EXPECT_EQ(ids(second.rows), (Ids{"21:1", "15:1", "9:1", "3:1"}));
    EXPECT_FALSE(second.next);
  });
}

TEST_P(StoreContract, ACursorBehindTheLastRow) {
  add({test_span(1, 1, 0, 10)});
  always([&] {
    Cursor end{UINT64_MAX, {0, UINT64_MAX, test_trace_id(UINT64_MAX), test_span_id(1)}};
    SlowPage one = page({}, By::kTrace, 10, end);
    EXPECT_TRUE(one.rows.empty());
    EXPECT_FALSE(one.next);
    Cursor front{UINT64_MAX, {UINT64_MAX, 0, {}, {}}};
    EXPECT_EQ(ids(page({}, By::kSpan, 10, front).rows), Ids{"1:1"});
  });
}

TEST_P(StoreContract, ARowReceivedAgainIsStillOnItsPage) {
  add({test_span(1, 1, 0, 30), test_span(2, 1, 0, 20), test_span(3, 1, 0, 10)});
  SlowPage first = page({}, By::kSpan, 1);
  ASSERT_TRUE(first.next);
  // The same row in another batch: its first reception counts.
  add({test_span(2, 1, 0, 20), test_span(4, 1, 0, 15)});
  always([&] {
    EXPECT_EQ(ids(page({}, By::kSpan, 10, first.next).rows), (Ids{"2:1", "3:1"}));
    EXPECT_EQ(ids(page({}, By::kTrace, 10, first.next).rows), (Ids{"2:1", "3:1"}));
  });
}

}  // namespace
}  // namespace fathom::store::testing
