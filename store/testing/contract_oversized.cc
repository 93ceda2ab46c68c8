// Traces beyond the limit of spans: what stays exact, what becomes a bound, and how they are read in pages.
#include <algorithm>
#include <set>

#include "store/model/span_text.h"
#include "store/testing/contract.h"

namespace fathom::store::testing {

namespace {

constexpr uint64_t kLimit = 5;
const HarnessOptions kSmallTraces{.trace_spans = kLimit};

// Spans 1, 2, ... of trace 1: each a millisecond long and a second behind the one before, children of span 1.
std::vector<TestSpan> spans_of(uint64_t first, uint64_t end) {
  std::vector<TestSpan> spans;
  for (uint64_t i = first; i < end; ++i) {
    spans.push_back(test_span(1, i, static_cast<int64_t>(i * kNanosPerSecond), kMilli));
    if (i > 1) spans.back().parent(1);
  }
  return spans;
}

std::vector<uint64_t> numbers_of(const StoredTrace& page) {
  std::vector<uint64_t> numbers;
  for (const StoredSpan& span : page.spans) numbers.push_back(number_of(span.span.span_id));
  return numbers;
}

class Pages {
 public:
  Pages(SpanStore& store, size_t limit) : store_(store), limit_(limit) {}

  // The numbers of the next page's spans.
  std::vector<uint64_t> next() {
    QueryBudget budget;
    Result<StoredTrace> page = store_.trace_page(test_trace_id(1), after_, limit_, budget);
    EXPECT_TRUE(page.ok()) << page.error().message;
    if (!page) return {};
    after_ = page->next;
    return numbers_of(*page);
  }
  bool ended() const { return !after_; }

 private:
  SpanStore& store_;
  const size_t limit_;
  std::optional<TraceCursor> after_;
};

std::vector<uint64_t> all_pages(SpanStore& store, size_t limit) {
  Pages pages(store, limit);
  std::vector<uint64_t> all;
  do {
    std::vector<uint64_t> page = pages.next();
    all.insert(all.end(), page.begin(), page.end());
  } while (!pages.ended());
  std::ranges::sort(all);
  return all;
}

std::vector<uint64_t> counted(uint64_t first, uint64_t end) {
  std::vector<uint64_t> numbers;
  for (uint64_t i = first; i < end; ++i) numbers.push_back(i);
  return numbers;
}

}  // namespace

TEST_P(StoreContract, ATraceOfTheLimitIsWhole) {
  start(kSmallTraces);
  add(spans_of(1, 1 + kLimit));
  always([&] {
    EXPECT_FALSE(only_row().oversized);
    EXPECT_TRUE(only_row().complete);
    StoredTrace found = trace(1);
    EXPECT_FALSE(found.oversized);
    EXPECT_FALSE(found.next);
    EXPECT_EQ(found.spans_at_most, kLimit);
  });
}

TEST_P(StoreContract, AnOversizedTraceHasAnExactDurationAndABoundOfSpans) {
  start(kSmallTraces);
  for (uint64_t i = 1; i < 20; ++i) add(spans_of(i, i + 1));
  add({test_span(1, 20, static_cast<int64_t>(5 * kNanosPerSecond), 100 * kNanosPerSecond).parent(1).failed()});
  add({test_span(2, 1, 0, 1)});
  always([&] {
    std::vector<SlowRow> rows = slowest();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_TRUE(rows[0].oversized);
    EXPECT_FALSE(rows[0].complete);
    EXPECT_TRUE(rows[0].error);
    EXPECT_EQ(rows[0].start_unix_nano, kTestNow + kNanosPerSecond);
    EXPECT_EQ(rows[0].duration_nano, 104 * kNanosPerSecond);
    EXPECT_EQ(rows[0].root_duration_nano, kMilli);
    EXPECT_EQ(rows[0].span_id, test_span_id(1));
    EXPECT_GE(rows[0].spans, 20u);
    EXPECT_FALSE(rows[1].oversized);
    EXPECT_TRUE(rows[1].complete);
    StoredTrace found = trace(1);
    EXPECT_TRUE(found.oversized);
    EXPECT_EQ(found.duration_nano, 104 * kNanosPerSecond);
    EXPECT_GE(found.spans_at_most, 20u);
  });
}

TEST_P(StoreContract, PagesOfAnOversizedTraceHaveEachSpanOnce) {
  start(kSmallTraces);
  for (uint64_t i = 0; i < 10; ++i) add(spans_of(1 + 20 * i, 21 + 20 * i));
  always([&] {
    for (size_t limit : {1, 7, 200, 1000}) EXPECT_EQ(all_pages(store(), limit), counted(1, 201)) << limit;
  });
}

TEST_P(StoreContract, PagesOfAnOversizedTraceTellOfOneMoment) {
  start(kSmallTraces);
  add(spans_of(1, 31));
  Pages pages(store(), 10);
  std::vector<uint64_t> all = pages.next();
  add(spans_of(31, 61));
  while (!pages.ended()) {
    // Sealed between two pages, and more of it received.
    ASSERT_TRUE(store().settle().ok());
    for (uint64_t number : pages.next()) all.push_back(number);
    add({test_span(2, all.size(), 0, 1)});
  }
  std::ranges::sort(all);
  EXPECT_EQ(all, counted(1, 31));
  EXPECT_EQ(all_pages(store(), 10), counted(1, 61));
}

TEST_P(StoreContract, SpansThatAreAlikeInTheirPlaceStayOnOnePage) {
  start(kSmallTraces);
  std::vector<TestSpan> spans;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) spans.push_back(test_span(1, 1, 0, 1).named(name));
  spans.push_back(test_span(1, 2, 1, 1));
  add(spans);
  always([&] {
    Pages pages(store(), 2);
    EXPECT_EQ(pages.next().size(), 8u);
    EXPECT_EQ(pages.next(), counted(2, 3));
    EXPECT_TRUE(pages.ended());
  });
}

TEST_P(StoreContract, AnOversizedTraceIsFoundByAnyOfItsSpans) {
  start(kSmallTraces);
  std::vector<TestSpan> spans = spans_of(1, 12);
  spans.front().named("first").with({"user", "early"});
  spans.back().named("last").with({"user", "late"});
  for (const TestSpan& span : spans) add({span});
  always([&] {
    for (const char* name : {"first", "last", "GET /"}) {
      Filter filter;
      filter.operation = name;
      EXPECT_EQ(slowest_ids(filter), Ids{"1:1"}) << name;
      EXPECT_EQ(ids(find(filter)), Ids{"1:1"}) << name;
    }
    for (const char* user : {"early", "late"}) {
      Filter filter;
      filter.where = {{"user", user}};
      EXPECT_EQ(slowest_ids(filter), Ids{"1:1"}) << user;
      EXPECT_EQ(slowest(filter, By::kSpanOfTrace).size(), 1u) << user;
    }
    Filter nobody;
    nobody.where = {{"user", "nobody"}};
    EXPECT_TRUE(slowest(nobody).empty());
    EXPECT_TRUE(slowest(in_range(kTestNow + 2 * kNanosPerSecond, UINT64_MAX)).empty());
  });
}

TEST_P(StoreContract, RetentionTakesFromTheDurationOfAnOversizedTrace) {
  start(kSmallTraces);
  add(spans_of(1, 8));
  for (uint64_t i = 8; i < 12; ++i) {
    harness().advance(61 * kNanosPerMinute);
    add(spans_of(i, i + 1));
    ASSERT_TRUE(store().settle().ok());
  }
  ASSERT_TRUE(store().drop_before(harness().now_unix_nano() - 130 * kNanosPerMinute).ok());
  always([&] {
    SlowRow row = only_row();
    EXPECT_TRUE(row.oversized) << "it stays oversized for as long as a span of it is stored";
    EXPECT_EQ(row.start_unix_nano, kTestNow + 9 * kNanosPerSecond);
    EXPECT_EQ(row.duration_nano, 2 * kNanosPerSecond + kMilli);
    EXPECT_EQ(row.root_duration_nano, 0u);
    EXPECT_EQ(all_pages(store(), 2), counted(9, 12));
  });
  add(spans_of(12, 14));
  always([&] { EXPECT_EQ(only_row().duration_nano, 4 * kNanosPerSecond + kMilli); });
  harness().advance(61 * kNanosPerMinute);
  ASSERT_TRUE(store().settle().ok());
  ASSERT_TRUE(store().drop_before(harness().now_unix_nano()).ok());
  EXPECT_TRUE(slowest().empty());
  add(spans_of(1, 3));
  always([&] { EXPECT_FALSE(only_row().oversized) << "its id begins again"; });
}

TEST_P(StoreContract, SlowestShowsAnOversizedTraceAsItWas) {
  start(kSmallTraces);
  add({test_span(2, 1, 0, kNanosPerHour)});
  add(spans_of(1, 11));
  ASSERT_TRUE(store().settle().ok());
  add(spans_of(11, 12));
  SlowPage first = page({}, By::kTrace, 1);
  ASSERT_TRUE(first.next);
  add(spans_of(12, 31));
  always([&] {
    SlowPage second = page({}, By::kTrace, 1, first.next);
    ASSERT_EQ(second.rows.size(), 1u);
    EXPECT_EQ(second.rows[0].duration_nano, 10 * kNanosPerSecond + kMilli);
    EXPECT_TRUE(second.rows[0].oversized);
  });
}

}  // namespace fathom::store::testing
