// Many traces that grow in every segment: what sealing reads again is bounded, and answers stay exact.
#include <gtest/gtest.h>

#include <set>

#include "base/time.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kGrowing = 40;
constexpr uint64_t kLimit = 1000;
const std::string kSealReads = "fathom_seal_read_bytes_total";

RocksOptions flood(size_t most_traces = 65'536) {
  RocksOptions options;
  options.durability = Durability::kOs;
  options.oversized.reread_rows = kLimit;
  options.oversized.reread_traces = most_traces;
  return options;
}

class RocksGrownFlood : public ::testing::Test {
 protected:
  explicit RocksGrownFlood(const RocksOptions& options = flood()) : rig_(options) {}
  void SetUp() override { ASSERT_EQ(rig_.open(), ""); }

  // One more span of each growing trace, whose number decides where it starts.
  void append() {
    std::vector<TestSpan> spans;
    ++rounds_;
    for (uint64_t trace = 1; trace <= kGrowing; ++trace) {
      const auto start = static_cast<int64_t>(trace * kMilli + rounds_ * kNanosPerSecond);
      spans.push_back(test_span(trace, rounds_, start, trace * kMilli));
    }
    ASSERT_EQ(append_once(rig_.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
  }
  // What sealing read.
  uint64_t add_segments(uint64_t count) {
    const uint64_t before = metric(kSealReads);
    for (uint64_t i = 0; i < count; ++i) {
      append();
      EXPECT_TRUE(rig_.store().settle().ok());
    }
    return metric(kSealReads) - before;
  }
  std::vector<SlowRow> slowest(size_t limit) {
    QueryBudget budget;
    Result<SlowPage> page = rig_.store().slowest({}, By::kTrace, limit, std::nullopt, budget);
    EXPECT_TRUE(page.ok());
    return page ? page->rows : std::vector<SlowRow>();
  }
  void expect_whole(uint64_t trace) { EXPECT_FALSE(shows_repetitions(trace)) << "a span is shown twice"; }
  // Whether a span is shown twice. All are shown.
  bool shows_repetitions(uint64_t trace) {
    bool repeats = false;
    std::set<uint64_t> numbers;
    std::optional<TraceCursor> after;
    do {
      QueryBudget budget;
      Result<StoredTrace> page = rig_.store().trace_page(test_trace_id(trace), after, 7, budget);
      EXPECT_TRUE(page.ok());
      if (!page) return false;
      for (const StoredSpan& span : page->spans) repeats |= !numbers.insert(number_of(span.span.span_id)).second;
      after = page->next;
    } while (after);
    EXPECT_EQ(numbers.size(), rounds_);
    return repeats;
  }
  // The traces by their durations, which are exact: the later a trace starts, the longer its last span takes.
  void expect_exact() {
    const std::vector<SlowRow> rows = slowest(kGrowing);
    ASSERT_EQ(rows.size(), kGrowing);
    for (uint64_t i = 0; i < kGrowing; ++i) {
      const uint64_t trace = kGrowing - i;
      EXPECT_EQ(rows[i].trace_id, test_trace_id(trace));
      EXPECT_EQ(rows[i].duration_nano, (rounds_ - 1) * kNanosPerSecond + trace * kMilli);
      EXPECT_EQ(rows[i].spans, rounds_);
    }
  }
  size_t oversized() { return static_cast<size_t>(std::ranges::count(slowest(kGrowing), true, &SlowRow::oversized)); }

  RocksRig rig_;
  uint64_t rounds_ = 0;
};

TEST_F(RocksGrownFlood, FewOlderSpansAreReadAgain) {
  add_segments(3);  // the second and the third read 40 * 9 and 40 * 18 rows
  EXPECT_EQ(oversized(), 0u);
  expect_exact();
}

TEST_F(RocksGrownFlood, BeyondTheLimitTracesAreOversized) {
  add_segments(30);
  const uint64_t early = add_segments(10);
  const uint64_t late = add_segments(10);
  EXPECT_LE(late, early + early / 2);
  EXPECT_GT(oversized(), kGrowing / 2);
  expect_exact();
  for (uint64_t trace : {uint64_t{1}, kGrowing / 2, kGrowing}) expect_whole(trace);
}

TEST_F(RocksGrownFlood, AnswersStayExactAfterARestartAndUnsealed) {
  add_segments(12);
  ASSERT_EQ(rig_.reopen(), "");
  expect_exact();
  append();
  expect_exact();
  for (uint64_t trace : {uint64_t{1}, kGrowing}) expect_whole(trace);
}

// All new spans are repetitions, which are not stored.
TEST_F(RocksGrownFlood, RepetitionsAreNotReadAgainForEver) {
  rig_.options().oversized.reread_rows = 100 * kLimit;
  ASSERT_EQ(rig_.reopen(), "");
  add_segments(12);
  rig_.options().oversized.reread_rows = kLimit;
  ASSERT_EQ(rig_.reopen(), "");
  const auto repeat = [this](uint64_t marker) {
    std::vector<TestSpan> spans{test_span(1000 + marker, 1, 0, 1)};  // a batch that is not known
    for (uint64_t trace = 1; trace <= kGrowing; ++trace) {
      spans.push_back(test_span(trace, 1, static_cast<int64_t>(trace * kMilli + kNanosPerSecond), trace * kMilli));
    }
    EXPECT_EQ(append_once(rig_.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
    EXPECT_TRUE(rig_.store().settle().ok());
  };
  repeat(1);
  EXPECT_GT(oversized(), kGrowing / 2);
  EXPECT_TRUE(shows_repetitions(kGrowing));
}

// The pages of an answer are of one moment, although each trace grows between them.
TEST_F(RocksGrownFlood, PagesShowTheTracesAsTheyWere) {
  add_segments(12);
  append();
  const uint64_t rounds = rounds_;
  std::optional<Cursor> cursor;
  uint64_t trace = kGrowing;
  do {
    QueryBudget budget;
    Result<SlowPage> page = rig_.store().slowest({}, By::kTrace, 9, cursor, budget);
    ASSERT_TRUE(page.ok());
    for (const SlowRow& row : page->rows) {
      EXPECT_EQ(row.trace_id, test_trace_id(trace));
      EXPECT_EQ(row.duration_nano, (rounds - 1) * kNanosPerSecond + trace * kMilli);
      --trace;
    }
    cursor = page->next;
    trace % 2 == 0 ? append() : void(add_segments(1));
  } while (cursor);
  EXPECT_EQ(trace, 0u);
}

class RocksFewOversized : public RocksGrownFlood {
 protected:
  RocksFewOversized() : RocksGrownFlood(flood(5)) {}
};

TEST_F(RocksFewOversized, NotTooManyTracesAreOversized) {
  add_segments(20);
  EXPECT_EQ(oversized(), 5u);
  expect_exact();
  ASSERT_EQ(rig_.reopen(), "");
  add_segments(5);
  EXPECT_EQ(oversized(), 5u);
  expect_exact();
}

}  // namespace
}  // namespace fathom::store::testing
