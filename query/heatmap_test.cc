#include "query/heatmap.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/time.h"
#include "query/testing/sample_store.h"

namespace fathom::query {
namespace {

using testing::kSampleStart;

TEST(HeatmapStep, IsRoundAndGivesNoMoreColumnsThanAskedFor) {
  EXPECT_EQ(heatmap_step_nano(kNanosPerHour, 240), 15 * kNanosPerSecond);
  EXPECT_EQ(heatmap_step_nano(24 * kNanosPerHour, 240), 600 * kNanosPerSecond);
  EXPECT_EQ(heatmap_step_nano(kNanosPerSecond, 240), 5'000'000u);
  EXPECT_EQ(heatmap_step_nano(0, 240), 1u);
  EXPECT_EQ(heatmap_step_nano(kNanosPerMinute, 100), kNanosPerSecond);
  EXPECT_EQ(heatmap_step_nano(60 * kNanosPerSecond / 2, 60), kNanosPerSecond / 2);
  for (uint64_t width = 1; width < uint64_t{1} << 62; width = width * 7 / 3 + 1) {
    uint64_t step = heatmap_step_nano(width, 200);
    EXPECT_LE((width + step - 1) / step, 200u) << width;
    if (width > kNanosPerHour * 4) {
      EXPECT_EQ(step % kNanosPerMinute, 0u) << width;
    }
  }
}

HeatmapAnswer ask_heatmap(const HeatmapQuery& query) {
  testing::SampleStore store;
  store::QueryBudget budget;
  auto answer = run_heatmap(store, query, kSampleStart + kNanosPerHour, budget);
  EXPECT_TRUE(answer.ok());
  return answer ? *answer : HeatmapAnswer();
}

HeatmapQuery first_minute() {
  HeatmapQuery query;
  query.filter.range = {kSampleStart, kSampleStart + kNanosPerMinute};
  query.columns = 60;
  return query;
}

TEST(Heatmap, CountsEverySpanInItsSecondAndItsRow) {
  HeatmapAnswer answer = ask_heatmap(first_minute());
  EXPECT_EQ(answer.start_unix_nano, kSampleStart);
  EXPECT_EQ(answer.step_nano, kNanosPerSecond);
  EXPECT_EQ(answer.columns, 60u);
  EXPECT_EQ(answer.spans, 2 * testing::kTraces);
  EXPECT_EQ(answer.errors, testing::kTraces / 3);
  EXPECT_TRUE(answer.errors_exact);
  uint64_t spans = 0, errors = 0;
  for (const HeatmapBin& bin : answer.bins) {
    EXPECT_LT(bin.column, testing::kTraces + 1);
    EXPECT_LT(bin.row + 1, answer.row_bounds_nano.size());
    spans += bin.spans;
    errors += bin.errors;
  }
  EXPECT_EQ(spans, answer.spans);
  EXPECT_EQ(errors, answer.errors);
  EXPECT_TRUE(std::is_sorted(answer.row_bounds_nano.begin(), answer.row_bounds_nano.end()));
  EXPECT_LE(answer.row_bounds_nano.front(), answer.max_nano);
  EXPECT_GE(answer.row_bounds_nano.back(), answer.max_nano);
  EXPECT_LE(answer.row_bounds_nano.size(), kDefaultBins + 2);
}

TEST(Heatmap, OfConditions) {
  HeatmapQuery query = first_minute();
  query.filter.service = "gateway";
  EXPECT_EQ(ask_heatmap(query).spans, testing::kTraces);
  query.filter.service.reset();
  query.filter.errors = true;
  HeatmapAnswer errors = ask_heatmap(query);
  EXPECT_EQ(errors.spans, testing::kTraces / 3);
  EXPECT_EQ(errors.errors, errors.spans);
}

TEST(Heatmap, OfNothing) {
  HeatmapQuery query;
  query.filter.range = {kSampleStart + 2 * kNanosPerHour, kSampleStart + 3 * kNanosPerHour};
  HeatmapAnswer answer = ask_heatmap(query);
  EXPECT_EQ(answer.spans, 0u);
  EXPECT_TRUE(answer.bins.empty());
  EXPECT_TRUE(answer.row_bounds_nano.empty());
  query.filter.range = {kSampleStart, kSampleStart};
  EXPECT_EQ(ask_heatmap(query).columns, 0u);
}

TEST(Heatmap, NeedsABegin) {
  testing::SampleStore store;
  store::QueryBudget budget;
  auto answer = run_heatmap(store, {}, kSampleStart, budget);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalid);
}

// A store that says that it has too many spans to count one by one.
class LargeStore : public testing::SampleStore {
 public:
  Result<uint64_t> spans_at_most(const store::TimeRange&, store::QueryBudget&) override { return uint64_t{1} << 40; }
};

TEST(Heatmap, OfManySpansAddsUpMinutes) {
  LargeStore store;
  store::QueryBudget budget;
  auto answer = run_heatmap(store, first_minute(), kSampleStart, budget);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->step_nano, kNanosPerMinute);
  EXPECT_EQ(answer->columns, 1u);
  EXPECT_EQ(answer->spans, 2 * testing::kTraces);
  EXPECT_EQ(answer->errors, testing::kTraces / 3);
  EXPECT_FALSE(answer->errors_exact);
  EXPECT_EQ(answer->max_nano, ask_heatmap(first_minute()).max_nano);
}

}  // namespace
}  // namespace fathom::query
