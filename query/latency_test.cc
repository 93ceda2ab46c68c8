#include <gtest/gtest.h>

#include "base/time.h"
#include "query/queries.h"
#include "query/testing/sample_store.h"

namespace fathom::query {
namespace {

constexpr uint64_t kNow = testing::kSampleStart;

uint64_t step_minutes(uint64_t from, uint64_t to) {
  return *latency_step({.range = {from, to}}, kNow) / kNanosPerMinute;
}

TEST(LatencyStep, IsRoundAndGivesFewPoints) {
  EXPECT_EQ(step_minutes(kNow - kNanosPerHour, kNow), 1u);
  EXPECT_EQ(step_minutes(kNow - 6 * kNanosPerHour, kNow), 2u);
  EXPECT_EQ(step_minutes(kNow - 24 * kNanosPerHour, kNow), 10u);
  EXPECT_EQ(step_minutes(kNow - 7 * 24 * kNanosPerHour, kNow), 60u);
  EXPECT_EQ(step_minutes(kNow, kNow), 1u);
  EXPECT_EQ(step_minutes(0, UINT64_MAX) % (24 * 60), 0u);
  EXPECT_GE(step_minutes(0, UINT64_MAX) * 200 * kNanosPerMinute, kNow);
}

TEST(LatencyStep, AskedStepsAreWholeMinutesAndNotTooMany) {
  store::TimeRange day{kNow - 24 * kNanosPerHour, kNow};
  EXPECT_EQ(*latency_step({.range = day, .step_nano = 5 * kNanosPerMinute}, kNow), 5 * kNanosPerMinute);
  EXPECT_FALSE(latency_step({.range = day, .step_nano = kNanosPerSecond}, kNow).ok());
  EXPECT_FALSE(latency_step({.range = {0, kNow}, .step_nano = kNanosPerMinute}, kNow).ok());
}

TEST(Latency, RowsOfTheHeatmapAreSharedAndFew) {
  testing::SampleStore store;
  store::SpanView span;
  span.name = "wide";
  for (uint64_t n = 0; n < 40; ++n) {
    span.trace_id = testing::sample_trace_id(100 + n);
    span.span_id = testing::sample_span_id(1);
    span.start_unix_nano = kNow + n * kNanosPerMinute;
    span.end_unix_nano = span.start_unix_nano + (uint64_t{1} << n);
    store.add(span, {});
  }
  store::QueryBudget budget;
  auto answer = run_latency(
      store, {.range = {kNow, kNow + kNanosPerHour}, .step_nano = kNanosPerMinute, .heatmap = true}, budget);
  ASSERT_TRUE(answer.ok());
  std::map<uint64_t, uint64_t> bounds;
  uint64_t spans = 0;
  for (const auto& point : answer->points) {
    uint64_t counted = 0;
    for (const auto& cell : point.cells) {
      auto [found, fresh] = bounds.try_emplace(cell.low_nano, cell.high_nano);
      EXPECT_EQ(found->second, cell.high_nano);
      counted += cell.count;
    }
    EXPECT_EQ(counted, point.point.durations.count());
    spans += counted;
  }
  EXPECT_EQ(spans, 2 * testing::kTraces + 40);
  EXPECT_LE(bounds.size(), 41u);
  uint64_t last = 0;
  for (auto [low, high] : bounds) {
    EXPECT_GE(low, last);
    last = high;
  }
}

}  // namespace
}  // namespace fathom::query
