// Many traces that lose their beginning to retention: memory for their corrections is bounded, and searches stay exact.
#include <gtest/gtest.h>

#include "base/time.h"
#include "store/rocks/corrections.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kTraces = 300;
constexpr size_t kInMemory = 20;

TraceSummary summary_of(uint64_t duration_nano) {
  TraceSummary summary;
  summary.duration_nano = duration_nano;
  return summary;
}

TEST(Corrections, KeepTheLongestInMemory) {
  Corrections corrections(10);
  for (uint64_t i = 0; i < 1000; ++i) corrections.add(test_trace_id(i + 1), summary_of((i * 7919) % 1000));
  corrections.finish();
  ASSERT_EQ(corrections.in_memory().size(), 10u);
  EXPECT_EQ(corrections.count(), 1000u);
  EXPECT_FALSE(corrections.all_in_memory());
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(corrections.in_memory()[i].summary.duration_nano, 999 - i);
  EXPECT_TRUE(corrections.may_contain(test_trace_id(123'456))) << "it may be one of those that are not in memory";
}

TEST(Corrections, AreAllInMemoryWhenTheyAreFew) {
  Corrections corrections(10);
  for (uint64_t i = 1; i <= 10; ++i) corrections.add(test_trace_id(i), summary_of(i));
  corrections.finish();
  EXPECT_TRUE(corrections.all_in_memory());
  EXPECT_TRUE(corrections.may_contain(test_trace_id(10)));
  EXPECT_FALSE(corrections.may_contain(test_trace_id(11)));
}

// Each trace has a span in the first hour, which is dropped, and one in the second: trace n lasts n ms afterwards.
class RocksCorrections : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    rig_.options().corrections_in_memory = GetParam();
    ASSERT_EQ(rig_.open(), "");
    append(0);
    rig_.advance(kNanosPerHour);
    append(kNanosPerHour);
    ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano()).ok());
  }
  void append(uint64_t at_nano) {
    std::vector<TestSpan> spans;
    for (uint64_t trace = 1; trace <= kTraces; ++trace) {
      spans.push_back(test_span(trace, 1 + at_nano, static_cast<int64_t>(at_nano + trace), trace * kMilli)
                          .named(at_nano == 0 ? "dropped" : "left"));
    }
    ASSERT_EQ(append_once(rig_.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
    ASSERT_TRUE(rig_.store().settle().ok());
  }
  // The numbers of all traces that match, page after page.
  std::vector<uint64_t> traces(const Filter& filter) {
    std::vector<uint64_t> found;
    std::optional<Cursor> cursor;
    do {
      QueryBudget budget;
      Result<SlowPage> page = rig_.store().slowest(filter, By::kTrace, 40, cursor, budget);
      if (!page) {
        ADD_FAILURE() << page.error().message;
        break;
      }
      for (const SlowRow& row : page->rows) {
        EXPECT_EQ(row.duration_nano, number_of(row.trace_id) * kMilli);
        EXPECT_EQ(row.spans, 1u);
        found.push_back(number_of(row.trace_id));
      }
      cursor = page->next;
    } while (cursor);
    return found;
  }
  static std::vector<uint64_t> descending(uint64_t from, uint64_t to) {
    std::vector<uint64_t> numbers;
    for (uint64_t number = from; number >= to && number > 0; --number) numbers.push_back(number);
    return numbers;
  }
  void check() {
    EXPECT_EQ(traces({}), descending(kTraces, 1));
    Filter started;
    started.range = {kTestNow + kNanosPerHour, kTestNow + 2 * kNanosPerHour};
    EXPECT_EQ(traces(started), descending(kTraces, 1));
    Filter lasted;
    lasted.min_duration_nano = 5 * kMilli;
    lasted.max_duration_nano = 150 * kMilli;
    EXPECT_EQ(traces(lasted), descending(150, 5));
    Filter left;
    left.operation = "left";
    EXPECT_EQ(traces(left), descending(kTraces, 1));
    Filter dropped;
    dropped.operation = "dropped";
    EXPECT_EQ(traces(dropped), std::vector<uint64_t>());
    QueryBudget budget;
    Result<std::vector<SlowRow>> newest = rig_.store().find(started, By::kTrace, 5, budget);
    ASSERT_TRUE(newest.ok()) << newest.error().message;
    ASSERT_EQ(newest->size(), 5u);
    for (uint64_t i = 0; i < 5; ++i) EXPECT_EQ(number_of((*newest)[i].trace_id), kTraces - i);
  }

  RocksRig rig_;
};

TEST_P(RocksCorrections, OfManyTracesAreExactWithinTheirMemory) {
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(metric("fathom_corrected_traces"), kTraces);
    EXPECT_EQ(metric("fathom_corrected_traces_in_memory"), std::min<uint64_t>(kTraces, GetParam()));
    check();
    ASSERT_EQ(rig_.reopen(), "");
  }
}

// A search that must read the rest does so within its budget.
TEST_P(RocksCorrections, BeyondTheirMemoryAreReadWithinTheBudget) {
  if (GetParam() >= kTraces) GTEST_SKIP() << "all of them are in memory";
  Filter shortest;
  shortest.max_duration_nano = 3 * kMilli;
  QueryBudget budget(UINT64_MAX, 1000);
  Result<SlowPage> page = rig_.store().slowest(shortest, By::kTrace, 10, std::nullopt, budget);
  ASSERT_FALSE(page.ok());
  EXPECT_EQ(page.error().code, ErrorCode::kExhausted);
}

INSTANTIATE_TEST_SUITE_P(InMemory, RocksCorrections, ::testing::Values(size_t{0}, kInMemory, size_t{1000}));

}  // namespace
}  // namespace fathom::store::testing
