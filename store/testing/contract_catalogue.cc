// operations(), latency(), attribute_keys(), attribute_values(), and the limit of operations.
#include <algorithm>

#include "store/testing/contract.h"

namespace fathom::store::testing {
namespace {

TEST_P(StoreContract, OperationsAreCountedByNamespaceServiceNameAndKind) {
  add({test_span(1, 1, 0, 10), test_span(2, 1, 0, 1000).failed(), test_span(3, 1, 0, 20).of_kind(SpanKind::kClient)});
  add({test_span(4, 1, 0, 30).of_service("eu", "shop"), test_span(5, 1, 0, 40).of_service("stock").named("SELECT")});
  always([&] {
    std::vector<OperationStats> found = operations();
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found[0].key, (OperationKey{"", "shop", "GET /", SpanKind::kServer}));
    EXPECT_EQ(found[1].key, (OperationKey{"", "shop", "GET /", SpanKind::kClient}));
    EXPECT_EQ(found[2].key, (OperationKey{"", "stock", "SELECT", SpanKind::kServer}));
    EXPECT_EQ(found[3].key, (OperationKey{"eu", "shop", "GET /", SpanKind::kServer}));
    Histogram expected;
    expected.record(10);
    expected.record(1000);
    EXPECT_EQ(found[0].spans, 2u);
    EXPECT_EQ(found[0].errors, 1u);
    EXPECT_EQ(found[0].durations, expected);
    EXPECT_EQ(operations({}, "shop").size(), 3u);
  });
}

TEST_P(StoreContract, OperationRangesAreWidenedToWholeMinutes) {
  const int64_t minute = kNanosPerMinute;
  add({test_span(1, 1, 0, 1), test_span(2, 1, minute - 1, 1), test_span(3, 1, minute, 1), test_span(4, 1, -1, 1)});
  always([&] {
    auto spans_in = [&](int64_t from, int64_t to) {
      std::vector<OperationStats> found =
          operations({kTestNow + static_cast<uint64_t>(from), kTestNow + static_cast<uint64_t>(to)});
      return found.empty() ? 0 : found[0].spans;
    };
    EXPECT_EQ(spans_in(0, minute), 2u);
    EXPECT_EQ(spans_in(30, 31), 2u);
    EXPECT_EQ(spans_in(minute - 1, minute + 1), 3u);
    EXPECT_EQ(spans_in(-1, 0), 1u);
    EXPECT_EQ(spans_in(-1, 1), 3u);
    EXPECT_EQ(spans_in(30, 30), 0u);
    EXPECT_EQ(spans_in(2 * minute, 60 * minute), 0u);
  });
}

TEST_P(StoreContract, LatencyPerStepLeavesEmptyStepsOut) {
  const int64_t minute = kNanosPerMinute;
  add({test_span(1, 1, 0, 10), test_span(2, 1, minute, 20).failed(), test_span(3, 1, 61 * minute, 30)});
  always([&] {
    std::vector<LatencyPoint> minutes = latency({}, kNanosPerMinute);
    ASSERT_EQ(minutes.size(), 3u);
    EXPECT_EQ(minutes[1].start_unix_nano, kTestNow + kNanosPerMinute);
    EXPECT_EQ(minutes[1].errors, 1u);
    EXPECT_EQ(minutes[1].durations.max_nano(), 20u);
    // Steps begin at multiples of the step: kTestNow is half past an hour.
    std::vector<LatencyPoint> hours = latency({}, kNanosPerHour);
    ASSERT_EQ(hours.size(), 2u);
    EXPECT_EQ(hours[0].start_unix_nano, kTestNow - 30 * kNanosPerMinute);
    EXPECT_EQ(hours[0].durations.count(), 2u);
    EXPECT_EQ(hours[1].start_unix_nano, kTestNow + 30 * kNanosPerMinute);
    std::vector<LatencyPoint> part = latency({kTestNow + kNanosPerMinute + 5, UINT64_MAX}, kNanosPerHour);
    ASSERT_EQ(part.size(), 2u);
    EXPECT_EQ(part[0].durations.count(), 1u);
  });
}

TEST_P(StoreContract, LatencyOfOneServiceAndOperation) {
  add({test_span(1, 1, 0, 10), test_span(2, 1, 0, 20).named("POST /"), test_span(3, 1, 0, 30).of_service("stock")});
  always([&] {
    EXPECT_EQ(latency({}, kNanosPerMinute, "shop").at(0).durations.count(), 2u);
    EXPECT_EQ(latency({}, kNanosPerMinute, std::nullopt, "GET /").at(0).durations.count(), 2u);
    EXPECT_EQ(latency({}, kNanosPerMinute, "shop", "POST /").at(0).durations.max_nano(), 20u);
    EXPECT_TRUE(latency({}, kNanosPerMinute, "stock", "POST /").empty());
  });
}

TEST_P(StoreContract, StepsMustBeWholeMinutes) {
  add({test_span(1, 1, 0, 10)});
  for (uint64_t step : {uint64_t{0}, uint64_t{1}, kNanosPerMinute - 1, kNanosPerMinute + 1}) {
    QueryBudget budget;
    Result<std::vector<LatencyPoint>> answer = store().latency({}, std::nullopt, std::nullopt, step, budget);
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalid);
  }
}

TEST_P(StoreContract, SketchesCountOncePerIdentity) {
  BatchPtr batch = make_batch({test_span(1, 1, 0, 10), test_span(2, 1, 0, 10)});
  append_and_wait(store(), batch);
  ASSERT_TRUE(store().settle().ok());
  append_and_wait(store(), batch);
  always([&] {
    EXPECT_EQ(operations().at(0).spans, 2u);
    EXPECT_EQ(latency({}, kNanosPerMinute).at(0).durations.count(), 2u);
  });
}

TEST_P(StoreContract, OperationsBeyondTheLimitAreOther) {
  start({.operations_per_service = 2});
  add({test_span(1, 1, 0, 10).named("a"), test_span(2, 1, 0, 20).named("a").of_kind(SpanKind::kClient)});
  add({test_span(3, 1, 0, 30).named("b"), test_span(4, 1, 0, 40).named("a"),
       test_span(5, 1, 0, 50).named("b").of_service("stock"), test_span(6, 1, 0, 60).named("c").failed()});
  auto check = [&] {
    Filter filter;
    filter.operation = "__other__";
    EXPECT_EQ(slowest_ids(filter), (Ids{"6:1", "3:1"}));
    EXPECT_EQ(only_row(in_service("stock")).operation, "b");
    filter.operation = "c";
    EXPECT_EQ(slowest_ids(filter), Ids{});
    EXPECT_EQ(trace(3).spans.at(0).span.name, "b");
    EXPECT_EQ(trace(3).spans.at(0).operation, "__other__");
    std::vector<OperationStats> found = operations({}, "shop");
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].key, (OperationKey{"", "shop", "__other__", SpanKind::kUnspecified}));
    EXPECT_EQ(found[0].spans, 2u);
    EXPECT_EQ(found[0].errors, 1u);
    EXPECT_EQ(latency({}, kNanosPerMinute, "shop", "__other__").at(0).durations.count(), 2u);
  };
  always(check);
  // After a restart the limit still knows who came first.
  add({test_span(7, 1, 0, 70).named("d"), test_span(8, 1, 0, 80).named("a")});
  Filter other;
  other.operation = "__other__";
  always([&] { EXPECT_EQ(slowest_ids(other), (Ids{"7:1", "6:1", "3:1"})); });
}

TEST_P(StoreContract, OperationsGoWithTheLastOfTheirSpans) {
  start({.operations_per_service = 2});
  auto names = [&] {
    Ids found;
    for (const OperationStats& one : operations()) found.push_back(one.key.operation);
    return found;
  };
  add({test_span(1, 1, 0, 10).named("a"), test_span(2, 1, 0, 20).named("b"), test_span(3, 1, 0, 30).named("c")});
  harness().advance(2 * kNanosPerHour);
  add({test_span(4, 1, 0, 40).named("b"), test_span(5, 1, 0, 50).named("d")});
  always([&] { EXPECT_EQ(names(), (Ids{"__other__", "a", "b"})); });
  ASSERT_TRUE(store().drop_before(kTestNow + 1).ok());
  // "a" has left its place to the next that comes; what was stored as another's stays so.
  always([&] { EXPECT_EQ(names(), (Ids{"__other__", "b"})); });
  add({test_span(6, 1, 0, 60).named("e"), test_span(7, 1, 0, 70).named("a"), test_span(8, 1, 0, 80).named("b")});
  always([&] {
    EXPECT_EQ(names(), (Ids{"__other__", "b", "e"}));
    Filter filter;
    filter.operation = "__other__";
    EXPECT_EQ(slowest_ids(filter), (Ids{"7:1", "5:1"}));
    filter.operation = "b";
    EXPECT_EQ(slowest_ids(filter), (Ids{"8:1", "4:1"}));
  });
  ASSERT_TRUE(store().drop_before(UINT64_MAX).ok());
  always([&] { EXPECT_EQ(names(), Ids{}); });
  add({test_span(9, 1, 0, 90).named("a"), test_span(10, 1, 0, 100).named("d")});
  always([&] { EXPECT_EQ(names(), (Ids{"a", "d"})); });
}

TEST_P(StoreContract, AttributeKeysOfSpansAndResources) {
  TestSpan span = test_span(1, 1, 0, 10).with({"http.method", "GET"}).with({"a", 1});
  span.resource.attributes.push_back({"host.name", "h"});
  span.scope.attributes = {{"of.scope", "no"}};
  add({span, test_span(2, 1, static_cast<int64_t>(5 * kNanosPerHour), 10).with({"later", "x"})});
  always([&] {
    QueryBudget budget;
    Result<Ids> all = store().attribute_keys({}, budget);
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(*all, (Ids{"a", "host.name", "http.method", "later", "service.name"}));
    Result<Ids> early = store().attribute_keys({kTestNow, kTestNow + 1}, budget);
    ASSERT_TRUE(early.ok());
    // A store may answer for the blocks that touch the range, and so name more; never less.
    EXPECT_TRUE(std::ranges::includes(*early, Ids{"a", "host.name", "http.method", "service.name"}));
    EXPECT_TRUE(std::ranges::is_sorted(*early));
  });
}

TEST_P(StoreContract, AttributeValuesMostFrequentFirst) {
  add({test_span(1, 1, 0, 1).with({"code", 200}), test_span(2, 1, 0, 1).with({"code", "200"}),
       test_span(3, 1, 0, 1).with({"code", 404}), test_span(4, 1, 0, 1).with({"code", 500}),
       test_span(5, 1, 0, 1).with({"code", 500}).with({"code", 500}), test_span(6, 1, 0, 1).with({"code", 500})});
  auto values = [&](const std::string& key, size_t limit, const std::string& containing = "") {
    QueryBudget budget;
    Result<std::vector<ValueCount>> found = store().attribute_values({}, key, containing, limit, budget);
    EXPECT_TRUE(found.ok());
    Ids out;
    for (const ValueCount& one : *found) out.push_back(one.value + " x" + std::to_string(one.spans));
    return out;
  };
  always([&] {
    EXPECT_EQ(values("code", 10), (Ids{"500 x3", "200 x2", "404 x1"}));
    EXPECT_EQ(values("code", 2), (Ids{"500 x3", "200 x2"}));
    EXPECT_EQ(values("code", 0), Ids{});
    EXPECT_EQ(values("service.name", 10), Ids{"shop x6"});
    EXPECT_EQ(values("nothing", 10), Ids{});
    EXPECT_EQ(values("code", 1, "4"), Ids{"404 x1"}) << "what is left out does not count";
    EXPECT_EQ(values("service.name", 10, "HO"), Ids{"shop x6"});
    EXPECT_EQ(values("service.name", 10, "hop "), Ids{});
  });
}

}  // namespace
}  // namespace fathom::store::testing
