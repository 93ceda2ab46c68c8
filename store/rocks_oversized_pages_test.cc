// Pages of an oversized trace across restarts: a cursor goes on with each span once, or it is rejected with the fix.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kBatchSpans = 50;
constexpr size_t kPage = 33;

RocksOptions paged_traces() {
  RocksOptions options;
  options.oversized.spans = 2 * kBatchSpans;
  options.sealing_limit = 100;
  return options;
}

// A cursor, and the spans of the pages before it.
struct PageEnd {
  TraceCursor cursor;
  std::set<uint64_t> before;
};

class RocksOversizedPages : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(rig_.open(), ""); }

  // Batches take turns in the order of starts.
  void append(uint64_t batches) {
    for (uint64_t batch = 0; batch < batches; ++batch) {
      std::vector<TestSpan> spans;
      for (uint64_t i = 0; i < kBatchSpans; ++i) {
        ++spans_;
        spans.push_back(test_span(1, spans_, static_cast<int64_t>(i * kMilli + spans_), kMilli));
      }
      ASSERT_EQ(append_once(rig_.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
    }
  }
  void settle() { ASSERT_TRUE(rig_.store().settle().ok()); }
  // The next batches are in memory, `spans` of them in each generation, and sealing them fails.
  void keep_unsealed(uint64_t spans) {
    rig_.options().segment_spans = spans;
    ASSERT_EQ(rig_.reopen(), "");
    rig_.disk().refuse_tables(true);
  }
  void reopen_with(uint64_t segment_spans) {
    rig_.close();  // before sealing succeeds
    rig_.options().segment_spans = segment_spans;
    rig_.disk().refuse_tables(false);
    ASSERT_EQ(rig_.open(), "");
  }

  // The numbers of the spans behind `after`, which are not in `met`, and the ends of their pages.
  Result<std::set<uint64_t>> spans_behind(std::optional<TraceCursor> after, std::set<uint64_t> met,
                                          std::vector<PageEnd>* ends = nullptr) {
    std::set<uint64_t> numbers;
    do {
      QueryBudget budget;
      Result<StoredTrace> page = rig_.store().trace_page(test_trace_id(1), after, kPage, budget);
      if (!page) return page.error();
      for (const StoredSpan& span : page->spans) {
        const uint64_t number = number_of(span.span.span_id);
        EXPECT_TRUE(met.insert(number).second) << "span " << number << " is on two pages";
        numbers.insert(number);
      }
      after = page->next;
      if (after && ends != nullptr) ends->push_back({*after, met});
    } while (after);
    return numbers;
  }
  std::set<uint64_t> counted(uint64_t first, uint64_t last) {
    std::set<uint64_t> numbers;
    for (uint64_t i = first; i <= last; ++i) numbers.insert(i);
    return numbers;
  }
  // All pages of now, whose ends are tried later.
  void read_pages() {
    ends_.clear();
    Result<std::set<uint64_t>> all = spans_behind(std::nullopt, {}, &ends_);
    ASSERT_TRUE(all.ok());
    ASSERT_EQ(*all, counted(1, spans_));
    ASSERT_GT(ends_.size(), 2u);
    spans_then_ = spans_;
  }
  // How many of the cursors are rejected. The others find the rest of the stored spans of then, from `oldest` on.
  size_t rejected(uint64_t oldest = 1) {
    size_t rejected = 0;
    for (const PageEnd& end : ends_) {
      Result<std::set<uint64_t>> rest = spans_behind(end.cursor, end.before);
      if (!rest) {
        EXPECT_EQ(rest.error().code, ErrorCode::kInvalid);
        EXPECT_NE(rest.error().message.find("without a cursor"), std::string::npos) << rest.error().message;
        ++rejected;
        continue;
      }
      std::set<uint64_t> expected = counted(oldest, spans_then_);
      for (uint64_t number : end.before) expected.erase(number);
      EXPECT_EQ(*rest, expected);
    }
    return rejected;
  }
  void expect_whole() {
    Result<std::set<uint64_t>> all = spans_behind(std::nullopt, {});
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(*all, counted(1, spans_));
  }

  RocksRig rig_{paged_traces()};
  uint64_t spans_ = 0;
  uint64_t spans_then_ = 0;
  std::vector<PageEnd> ends_;
};

TEST_F(RocksOversizedPages, CursorsGoOnAfterARestart) {
  append(4);
  settle();
  append(4);
  read_pages();
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(rejected(), 0u);
  append(2);
  EXPECT_EQ(rejected(), 0u);
  ASSERT_EQ(rig_.cut_power(), "");
  EXPECT_EQ(rejected(), 0u);
  settle();
  EXPECT_EQ(rejected(), 0u);
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(rejected(), 0u);
  expect_whole();
}

TEST_F(RocksOversizedPages, CursorsGoOnWhenTheirGenerationsAreSealedAfterARestart) {
  keep_unsealed(2 * kBatchSpans);
  append(9);
  read_pages();
  reopen_with(2 * kBatchSpans);
  EXPECT_EQ(rejected(), 0u);
  settle();
  EXPECT_EQ(rejected(), 0u);
  expect_whole();
}

TEST_F(RocksOversizedPages, CursorsGoOnAfterARestartAndADrop) {
  append(3);
  rig_.advance(61 * kNanosPerMinute);
  append(3);
  settle();
  rig_.advance(61 * kNanosPerMinute);
  append(2);
  read_pages();
  ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano() - 90 * kNanosPerMinute).ok());
  EXPECT_EQ(rejected(3 * kBatchSpans + 1), 0u);
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(rejected(3 * kBatchSpans + 1), 0u);
}

// Smaller limits divide what was one generation.
TEST_F(RocksOversizedPages, CursorsAreRejectedWhenARestartDividesAGeneration) {
  append(8);
  read_pages();
  reopen_with(3 * kBatchSpans);
  EXPECT_EQ(rejected(), ends_.size());
  settle();
  EXPECT_EQ(rejected(), ends_.size());
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(rejected(), ends_.size());
  expect_whole();
}

TEST_F(RocksOversizedPages, CursorsAreRejectedWhenARestartJoinsGenerations) {
  append(3);
  settle();
  keep_unsealed(3 * kBatchSpans);
  append(8);
  read_pages();
  reopen_with(100'000);
  const size_t sealed = 3 * kBatchSpans / kPage;  // ends of pages within the segment
  EXPECT_EQ(rejected(), ends_.size() - sealed);
  settle();
  EXPECT_EQ(rejected(), ends_.size() - sealed);
  expect_whole();
}

class RocksOversizedPagesUnsynced : public RocksOversizedPages {
 protected:
  RocksOversizedPagesUnsynced() { rig_.options().durability = Durability::kOs; }
};

// The store was set back to an earlier state.
TEST_F(RocksOversizedPagesUnsynced, CursorsOfLostSpansAreRejected) {
  append(4);
  settle();
  append(4);
  read_pages();
  ASSERT_EQ(rig_.cut_power(), "");
  ASSERT_LT(rig_.store().stats().spans_stored, spans_);
  EXPECT_EQ(rejected(), ends_.size());
}

// A trace below the limits, whose spans together need more than a query may use.
TEST(RocksTracePages, ATraceNeedsTheMemoryOfAPage) {
  constexpr uint64_t kSpans = 8000;
  RocksRig rig{RocksOptions{}};
  ASSERT_EQ(rig.open(), "");
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= kSpans; ++i) {
    spans.push_back(test_span(1, i, static_cast<int64_t>(i * kMilli), kMilli));
    spans.back().with({"value", std::string(2000, 'v') + std::to_string(i)});
  }
  ASSERT_EQ(append_once(rig.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
  ASSERT_TRUE(rig.store().settle().ok());
  const std::vector<TestSpan> late{spans.front(), test_span(1, kSpans + 1, 0, kMilli)};  // the first one is repeated
  ASSERT_EQ(append_once(rig.store(), make_batch(late)).outcome, AppendOutcome::kDurable);

  constexpr uint64_t kBudget = 8 << 20;
  QueryBudget whole(UINT64_MAX, kBudget);
  EXPECT_EQ(rig.store().trace(test_trace_id(1), whole).error().code, ErrorCode::kExhausted);
  std::map<uint64_t, int> times;
  std::optional<TraceCursor> after = TraceCursor{.received_sequence = rig.store().stats().received_sequence};
  while (after) {
    QueryBudget budget(UINT64_MAX, kBudget);
    Result<StoredTrace> page = rig.store().trace_page(test_trace_id(1), after, 100, budget);
    ASSERT_TRUE(page.ok()) << page.error().message;
    EXPECT_EQ(page->spans_at_most, kSpans + late.size());
    for (const StoredSpan& span : page->spans) ++times[number_of(span.span.span_id)];
    after = page->next;
  }
  EXPECT_EQ(times.size(), kSpans + 1);
  EXPECT_EQ(times[1], 2) << "unsealed spans that repeat others are shown";
}

}  // namespace
}  // namespace fathom::store::testing
