// Oversized traces on the real engine: sealing and queries do work in proportion to what is new, not to the trace.
#include <gtest/gtest.h>

#include "base/time.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kSpansPerSegment = 50;
const std::string kSealReads = "fathom_seal_read_bytes_total";

RocksOptions small_traces() {
  RocksOptions options;
  options.durability = Durability::kOs;
  options.oversized.spans = 2 * kSpansPerSegment;
  return options;
}

class RocksOversized : public ::testing::Test {
 protected:
  explicit RocksOversized(const RocksOptions& options = small_traces()) : rig_(options) {}
  void SetUp() override { ASSERT_EQ(rig_.open(), ""); }

  // One more segment: more spans of trace 1, and an ordinary trace.
  void add_segment() {
    append();
    ASSERT_TRUE(rig_.store().settle().ok());
  }
  void append() {
    std::vector<TestSpan> spans;
    for (uint64_t i = 0; i < kSpansPerSegment; ++i) {
      ++spans_;
      spans.push_back(test_span(1, spans_, static_cast<int64_t>(spans_ * kMilli), kMilli).named("endless"));
      if (spans_ > 1) spans.back().parent(1);
    }
    spans.push_back(test_span(1000 + spans_, 1, 0, 1 + spans_).named("ordinary"));
    ASSERT_EQ(append_once(rig_.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
  }
  void add_segments(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) add_segment();
  }

  SlowRow row(const Filter& filter = {}) {
    QueryBudget budget;
    Result<SlowPage> page = rig_.store().slowest(filter, By::kTrace, 20, std::nullopt, budget);
    EXPECT_TRUE(page.ok());
    bytes_read_ = budget.spent_bytes();
    return page && !page->rows.empty() ? page->rows.front() : SlowRow{};
  }
  size_t spans_in_pages() {
    size_t spans = 0;
    std::optional<TraceCursor> after;
    do {
      QueryBudget budget;
      Result<StoredTrace> page = rig_.store().trace_page(test_trace_id(1), after, 33, budget);
      EXPECT_TRUE(page.ok());
      if (!page) return 0;
      spans += page->spans.size();
      after = page->next;
    } while (after);
    return spans;
  }
  void expect_exact() {
    EXPECT_TRUE(row().oversized);
    EXPECT_EQ(row().trace_id, test_trace_id(1));
    EXPECT_EQ(row().duration_nano, spans_ * kMilli);
    EXPECT_EQ(row().spans, spans_);
    EXPECT_EQ(spans_in_pages(), spans_);
  }

  RocksRig rig_;
  uint64_t spans_ = 0;
  uint64_t bytes_read_ = 0;
};

TEST_F(RocksOversized, SealingReadsWhatIsNewAlone) {
  add_segments(4);
  uint64_t before = metric(kSealReads);
  add_segment();
  const uint64_t early = metric(kSealReads) - before;
  add_segments(40);
  before = metric(kSealReads);
  add_segment();
  EXPECT_LE(metric(kSealReads) - before, early + 64);
  EXPECT_LE(early, 1024u);
  expect_exact();
}

TEST_F(RocksOversized, SlowestReadsNoMoreForALongerTrace) {
  Filter recent;
  recent.range.from_unix_nano = kTestNow;
  recent.min_duration_nano = kMilli;  // without the ordinary traces, of which there are more, too
  add_segments(4);
  row(recent);
  const uint64_t early = bytes_read_;
  add_segments(40);
  row(recent);
  EXPECT_TRUE(row(recent).oversized);
  EXPECT_LE(bytes_read_, 2 * early + 4096);  // the lists themselves become longer
}

TEST_F(RocksOversized, ALongerTraceNeedsNoMoreOfTheListOfGrownTraces) {
  add_segments(4);
  const uint64_t few = rig_.store().stats().disk_bytes;
  add_segments(4);
  const uint64_t early = rig_.store().stats().disk_bytes - few;
  add_segments(40);
  const uint64_t many = rig_.store().stats().disk_bytes;
  add_segments(4);
  EXPECT_LE(rig_.store().stats().disk_bytes - many, early + early / 4);
}

// The rows in memory were added up before the drop and are after it.
TEST_F(RocksOversized, ADropLeavesTheUnsealedRowsOfATrace) {
  add_segments(3);
  const uint64_t dropped = spans_;
  rig_.advance(61 * kNanosPerMinute);
  add_segment();
  rig_.advance(61 * kNanosPerMinute);
  append();
  ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano() - 61 * kNanosPerMinute).ok());
  append();
  const SlowRow found = row();
  EXPECT_TRUE(found.oversized);
  EXPECT_EQ(found.spans, spans_ - dropped);
  EXPECT_EQ(found.duration_nano, (spans_ - dropped) * kMilli);
  EXPECT_EQ(spans_in_pages(), spans_ - dropped);
}

// Spans of one trace that are sent again and again: few distinct rows, and many more rows than the limit.
class RocksRepeated : public RocksOversized {
 protected:
  static constexpr uint64_t kDistinct = 2 * kSpansPerSegment - 10;  // below the limit
  static constexpr uint64_t kRepeats = 40;

  // Spans 1 to `count` of trace 1. Another trace makes the batch different from all others.
  void send(uint64_t count = kDistinct) {
    std::vector<TestSpan> spans;
    for (uint64_t i = 1; i <= count; ++i) {
      spans.push_back(test_span(1, i, static_cast<int64_t>(i * kMilli), kMilli).with({"text", std::string(200, 'x')}));
      if (i > 1) spans.back().parent(1);
    }
    spans.push_back(test_span(1000 + ++batches_, 1, 0, 1));
    ASSERT_EQ(append_once(rig_.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
    spans_ = std::max(spans_, count);
  }
  void send_repeats() {
    for (uint64_t i = 0; i < kRepeats; ++i) send();
  }
  uint64_t bytes_of_row() {
    const SlowRow found = row(slow_);
    EXPECT_FALSE(found.oversized);
    EXPECT_TRUE(found.complete);
    EXPECT_EQ(found.spans, spans_);
    EXPECT_EQ(found.duration_nano, spans_ * kMilli);
    return bytes_read_;
  }
  // The first query reads all rows, later ones those that arrived since.
  void expect_rows_read_once() {
    const uint64_t first = bytes_of_row();
    EXPECT_LE(bytes_of_row(), first / 10);
    send();
    EXPECT_LE(bytes_of_row(), first / 10);
    EXPECT_LE(bytes_of_row(), first / 10);
  }

  Filter slow_{.min_duration_nano = kMilli};  // trace 1 alone
  uint64_t batches_ = 0;
};

TEST_F(RocksRepeated, UnsealedRowsAreReadOnce) {
  send_repeats();
  expect_rows_read_once();
}

TEST_F(RocksRepeated, UnsealedRowsBehindSealedOnesAreReadOnce) {
  send();
  ASSERT_TRUE(rig_.store().settle().ok());
  send_repeats();
  expect_rows_read_once();
  // Sealing finds nothing new in these rows.
  ASSERT_TRUE(rig_.store().settle().ok());
  bytes_of_row();
  send_repeats();
  expect_rows_read_once();
}

TEST_F(RocksRepeated, RowsOfSeveralGenerationsAreReadOnce) {
  rig_.options().segment_spans = 10 * kDistinct;
  rig_.options().sealing_limit = kRepeats;
  ASSERT_EQ(rig_.reopen(), "");
  rig_.disk().refuse_tables(true);
  send_repeats();
  expect_rows_read_once();
  rig_.disk().refuse_tables(false);
  ASSERT_TRUE(eventually([&] { return rig_.store().settle().ok(); }));
  bytes_of_row();
}

TEST_F(RocksRepeated, PassesTheLimitWithTheFirstSpanBeyondIt) {
  send_repeats();
  bytes_of_row();
  send(2 * kSpansPerSegment);
  bytes_of_row();
  send(2 * kSpansPerSegment + 1);
  EXPECT_TRUE(row(slow_).oversized);
  EXPECT_EQ(row(slow_).duration_nano, spans_ * kMilli);
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_TRUE(row(slow_).oversized);
}

// Rows of the dropped partition no longer count, also those that were never sealed.
TEST_F(RocksRepeated, ADropTakesItsRowsOut) {
  rig_.options().segment_spans = 100'000;
  ASSERT_EQ(rig_.reopen(), "");
  send_repeats();
  rig_.advance(61 * kNanosPerMinute);
  spans_ = 0;
  for (uint64_t i = 0; i < kRepeats; ++i) send(kSpansPerSegment);
  spans_ = kDistinct;
  bytes_of_row();
  ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano() - 1).ok());
  spans_ = kSpansPerSegment;
  bytes_of_row();
  send(kSpansPerSegment + 1);
  bytes_of_row();
}

// All spans of a large trace come again. Each is compared with its own older contents alone.
TEST(RocksRepeatedSealing, TakesTimeInProportionToTheRows) {
  RocksRig rig;
  rig.options().durability = Durability::kOs;
  ASSERT_EQ(rig.open(), "");
  const auto seal = [&](uint64_t other_trace) {
    std::vector<TestSpan> spans;
    for (uint64_t i = 1; i <= 20'000; ++i) spans.push_back(test_span(1, i, static_cast<int64_t>(i), kMilli));
    spans.push_back(test_span(other_trace, 1, 0, 1));
    EXPECT_EQ(append_once(rig.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
    const uint64_t began_nano = now_monotonic_nano();
    EXPECT_TRUE(rig.store().settle().ok());
    return now_monotonic_nano() - began_nano;
  };
  const uint64_t once_nano = seal(2);
  EXPECT_LE(seal(3), 20 * once_nano);
  EXPECT_EQ(stored_trace(rig.store(), 1)->spans.size(), 20'000u);
}

class RocksScattered : public RocksOversized {
 protected:
  static RocksOptions few_segments() {
    RocksOptions options = small_traces();
    options.oversized = {.spans = 1'000'000, .segments = 3};
    return options;
  }
  RocksScattered() : RocksOversized(few_segments()) {}
};

TEST_F(RocksScattered, ATraceInTooManySegmentsIsOversized) {
  add_segments(3);
  EXPECT_FALSE(row().oversized);
  add_segments(1);
  expect_exact();
  add_segments(5);
  expect_exact();
  ASSERT_EQ(rig_.reopen(), "");
  expect_exact();
}

// A server that knew no oversized traces wrote parts without tallies: a store with a greater limit stands for it.
class RocksOversizedBefore : public RocksOversized {
 protected:
  static RocksOptions unlimited() {
    RocksOptions options = small_traces();
    options.oversized.spans = 1'000'000;
    return options;
  }
  RocksOversizedBefore() : RocksOversized(unlimited()) {}

  void upgrade() {
    rig_.options().oversized = small_traces().oversized;
    ASSERT_EQ(rig_.reopen(), "");
  }
};

TEST_F(RocksOversizedBefore, TracesOfAnOlderServerAreOversizedWhenTheyAreRead) {
  add_segments(6);
  EXPECT_FALSE(row().oversized);
  upgrade();
  expect_exact();
  add_segments(3);
  expect_exact();
  ASSERT_EQ(rig_.reopen(), "");
  expect_exact();
}

TEST_F(RocksOversizedBefore, RetentionReadsTheirRowsOnceAndKeepsTheDurationExact) {
  for (int i = 0; i < 6; ++i) {
    add_segment();
    rig_.advance(61 * kNanosPerMinute);
  }
  upgrade();
  for (uint64_t left = 5; left > 0; --left) {
    ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano() - left * 61 * kNanosPerMinute).ok());
    EXPECT_EQ(row().duration_nano, left * kSpansPerSegment * kMilli) << left;
    EXPECT_EQ(spans_in_pages(), left * kSpansPerSegment) << left;
    EXPECT_TRUE(row().oversized) << left;
    ASSERT_EQ(rig_.reopen(), "");
    EXPECT_EQ(row().duration_nano, left * kSpansPerSegment * kMilli) << left;
  }
}

}  // namespace
}  // namespace fathom::store::testing
