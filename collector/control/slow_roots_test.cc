#include "collector/control/slow_roots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "store/batch.h"

namespace fathom::collector {
namespace {

constexpr uint64_t kPeriodNano = kNanosPerMinute;
constexpr uint64_t kBegin = 29'920'350 * kPeriodNano;  // of a period
constexpr uint64_t kPeriodNow = kBegin + 5 * kNanosPerSecond;

TraceId numbered_trace(uint64_t number) {
  TraceId trace;
  std::memcpy(trace.bytes.data(), &number, sizeof number);
  return trace;
}

struct Root {
  uint64_t trace = 0;
  uint64_t duration_nano = 0;
  uint64_t start_unix_nano = kBegin + 1;
  std::string_view operation = "GET /";
  bool has_parent = false;
};

store::BatchPtr batch_of(const std::vector<Root>& roots, std::optional<ClockOffset> clock = {}) {
  store::BatchBuilder builder({}, clock);
  store::AttributeView attribute{"service.name", store::ValueView::of_string("gateway")};
  store::ResourceView resource;
  resource.attributes = std::span(&attribute, 1);
  builder.set_resource(resource);
  for (const Root& root : roots) {
    store::SpanView span;
    span.trace_id = numbered_trace(root.trace);
    span.span_id.bytes[0] = 1;
    span.parent_span_id.bytes[0] = root.has_parent ? 2 : 0;
    span.start_unix_nano = root.start_unix_nano;
    span.end_unix_nano = root.start_unix_nano + root.duration_nano;
    span.name = root.operation;
    builder.add(span);
  }
  return builder.finish();
}

std::vector<TraceId> traces_of(const std::vector<SlowRoot>& roots) {
  std::vector<TraceId> traces;
  for (const SlowRoot& root : roots) traces.push_back(root.trace_id);
  std::ranges::sort(traces);
  return traces;
}

std::vector<TraceId> traces(std::initializer_list<uint64_t> numbers) {
  std::vector<TraceId> all;
  for (uint64_t number : numbers) all.push_back(numbered_trace(number));
  std::ranges::sort(all);
  return all;
}

class SlowRootsTest : public ::testing::Test {
 protected:
  SlowRootsTest() { step(); }
  SlowRoots::Due step(uint64_t now = kPeriodNow, uint64_t period_nano = kPeriodNano) {
    return roots_.step(now, period_nano);
  }
  static uint64_t skipped() { return counter("fathom_slow_roots_skipped_total", "").value(); }
  SlowRoots roots_{{.per_minute = 2, .most_operations_of_user = 3}};
};

TEST_F(SlowRootsTest, WhatIsAmongTheSlowestSoFarIsHeldAndWhatIsAtTheEndIsCaptured) {
  roots_.took(*batch_of({{1, 100}, {2, 300}, {4, 50}, {5, 10, kBegin + 1, "GET /other"}}));
  const SlowRoots::Due due = step();
  EXPECT_EQ(traces_of(due.hold), traces({1, 2, 5}));
  EXPECT_TRUE(due.capture.empty());
  roots_.took(*batch_of({{6, 150}, {3, 200}}));
  EXPECT_EQ(traces_of(step().hold), traces({3})) << "6 has lost its place meanwhile";
  EXPECT_EQ(due.hold[0].service, "gateway");
  EXPECT_EQ(due.hold[0].operation, "GET /");
  EXPECT_EQ(due.hold[0].start_unix_nano, kBegin + 1);
  EXPECT_EQ(due.hold[0].end_unix_nano, kBegin + 101);
  EXPECT_EQ(due.hold[0].hold_nano, kPeriodNano - 5 * kNanosPerSecond + SlowRoots::kHoldAfterNano);
  const uint64_t closes = kBegin + kPeriodNano + SlowRoots::kGraceNano;
  EXPECT_TRUE(step(closes - 1).capture.empty());
  EXPECT_EQ(traces_of(step(closes).capture), traces({2, 3, 5}));
  EXPECT_TRUE(step(closes + kPeriodNano).capture.empty()) << "once";
}

TEST_F(SlowRootsTest, ARequestThatIsSentAgainTakesOnePlace) {
  for (int time = 0; time < 3; ++time) roots_.took(*batch_of({{1, 100}}));
  roots_.took(*batch_of({{2, 50}}));
  EXPECT_EQ(traces_of(step().hold), traces({1, 2}));
}

TEST_F(SlowRootsTest, OnlyRootSpansThatCameByOtlpAreRanked) {
  roots_.took(*batch_of({{1, 100}}, ClockOffset{}));
  roots_.took(*batch_of({{.trace = 2, .duration_nano = 100, .has_parent = true}, {3, 0}}));
  roots_.took(*batch_of({{4, 100, kPeriodNow + SlowRoots::kMostAheadNano + 1}}));
  EXPECT_TRUE(step().hold.empty());
}

TEST_F(SlowRootsTest, WhatComesAfterItsPeriodWasClosedIsCapturedAtOnce) {
  roots_.took(*batch_of({{1, 100}, {2, 100}}));
  const uint64_t closed = kBegin + kPeriodNano + SlowRoots::kGraceNano;
  step(closed);
  roots_.took(*batch_of({{3, 50}, {4, 200}}));
  const SlowRoots::Due due = step(closed);
  EXPECT_TRUE(due.hold.empty());
  EXPECT_EQ(traces_of(due.capture), traces({4}));
}

TEST_F(SlowRootsTest, NothingIsRankedWhileNoNodeHoldsTraces) {
  step(kPeriodNow, 0);
  roots_.took(*batch_of({{1, 100}}));
  EXPECT_TRUE(step().hold.empty());
}

TEST_F(SlowRootsTest, ANewPeriodBeginsANewRanking) {
  roots_.took(*batch_of({{1, 100}, {2, 100}}));
  EXPECT_EQ(traces_of(step(kPeriodNow, kPeriodNano / 2).capture), traces({1, 2}));
  roots_.took(*batch_of({{3, 50}}));
  EXPECT_EQ(traces_of(step(kPeriodNow, kPeriodNano / 2).hold), traces({3}));
}

TEST_F(SlowRootsTest, OperationsAreBoundedAndTheOthersCounted) {
  const uint64_t before = skipped();
  roots_.took(*batch_of({{1, 9, kBegin, "a"}, {2, 9, kBegin, "b"}, {3, 9, kBegin, "c"}, {4, 9, kBegin, "d"}}));
  EXPECT_EQ(traces_of(step().hold), traces({1, 2, 3}));
  EXPECT_EQ(skipped(), before + 1);
}

TEST_F(SlowRootsTest, NamesAreCut) {
  const std::string name(1'000, 'n');
  roots_.took(*batch_of({{1, 100, kBegin, name}}));
  EXPECT_EQ(step().hold.at(0).operation.size(), SlowRoots::kMostNameBytes);
}

}  // namespace
}  // namespace fathom::collector
