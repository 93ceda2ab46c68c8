#include "query/differences.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "query/graph.h"
#include "query/testing/sample_store.h"

namespace fathom::query {
namespace {

using testing::kSampleStart;
constexpr uint64_t kFrom = kSampleStart + kNanosPerHour;

// A thousand requests of which every tenth is slow; all slow ones are of version 2, most of a gold customer's.
void add_requests(testing::SampleStore& store) {
  for (uint64_t n = 0; n < 1000; ++n) {
    bool slow = n % 10 == 0;
    std::string id = "id-" + std::to_string(n);
    store::AttributeView own[] = {
        {"request.id", store::ValueView::of_string(id)},
        {"customer", store::ValueView::of_string(slow && n % 100 != 0 ? "gold" : "lead")},
        {"customer", store::ValueView::of_string(slow && n % 100 != 0 ? "gold" : "lead")},
        {"region", store::ValueView::of_string(n % 2 == 0 ? "north" : "south")},
    };
    store::AttributeView resource[] = {
        {"service.name", store::ValueView::of_string("checkout")},
        {"service.version", store::ValueView::of_int(slow || n % 4 == 1 ? 2 : 1)},
        {"host.name", store::ValueView::of_string(slow || n % 4 == 1 ? "shop-2" : "shop-1")},
    };
    store::SpanView span;
    span.name = "pay";
    span.trace_id = testing::sample_trace_id(1000 + n);
    span.span_id = testing::sample_span_id(1);
    span.start_unix_nano = kFrom + n * kNanosPerSecond;
    span.end_unix_nano = span.start_unix_nano + (slow ? kNanosPerSecond : testing::kMilli);
    span.attributes = own;
    store.add(span, resource);
  }
}

DifferencesAnswer ask(DifferencesQuery query) {
  testing::SampleStore store;
  add_requests(store);
  store::QueryBudget budget;
  query.selected.range = {kFrom, kFrom + kNanosPerHour};
  query.view = query.selected.range;
  auto answer = run_differences(store, query, budget);
  EXPECT_TRUE(answer.ok());
  return answer ? *answer : DifferencesAnswer();
}

DifferencesQuery slow_ones() {
  DifferencesQuery query;
  query.selected.min_duration_nano = kNanosPerSecond / 2;
  return query;
}

TEST(Differences, GreatestFirstWithCounts) {
  DifferencesAnswer answer = ask(slow_ones());
  EXPECT_EQ(answer.selected.spans, 100u);
  EXPECT_EQ(answer.rest.spans, 900u);
  ASSERT_EQ(answer.differences.size(), 3u);
  const Difference& customer = answer.differences[0];
  EXPECT_EQ(customer.trait.key + "=" + customer.trait.value, "customer=gold");
  EXPECT_EQ(customer.selected, 90u);
  EXPECT_EQ(customer.rest, 0u);
  const Difference& version = answer.differences[1];
  EXPECT_EQ(version.selected, 100u);
  EXPECT_EQ(version.rest, 250u);
  // Two names for the same spans are told as one, and both are named.
  ASSERT_EQ(version.also.size(), 1u);
  EXPECT_EQ(version.trait.key + version.also[0].key, "host.nameservice.version");
  EXPECT_EQ(answer.differences[2].trait.value, "north");
}

TEST(Differences, WhatEachSpanHasOnceIsNoDifference) {
  for (const Difference& difference : ask(slow_ones()).differences) EXPECT_NE(difference.trait.key, "request.id");
}

TEST(Differences, OfASelectionOfNothingOrOfEverything) {
  DifferencesQuery none = slow_ones();
  none.selected.min_duration_nano = kNanosPerHour;
  EXPECT_EQ(ask(none).selected.spans, 0u);
  EXPECT_TRUE(ask(none).differences.empty());
  DifferencesAnswer all = ask({});
  EXPECT_EQ(all.rest.spans, 0u);
  EXPECT_TRUE(all.differences.empty());
}

// The spans of one request share what it says, and are not so many independent witnesses.
TEST(Differences, WhatOneTraceHasIsNoDifference) {
  testing::SampleStore store;
  add_requests(store);
  for (uint64_t n = 2; n < 60; ++n) {
    store::AttributeView own[] = {{"session.id", store::ValueView::of_string("7f3a")}};
    store::SpanView span;
    span.name = "pay";
    span.trace_id = testing::sample_trace_id(1000);
    span.span_id = testing::sample_span_id(n);
    span.start_unix_nano = kFrom;
    span.end_unix_nano = kFrom + kNanosPerSecond;
    span.attributes = own;
    store.add(span, {});
  }
  store::QueryBudget budget;
  DifferencesQuery query = slow_ones();
  query.selected.range = {kFrom, kFrom + kNanosPerHour};
  query.view = query.selected.range;
  auto answer = run_differences(store, query, budget);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->selected.spans, 158u);
  for (const Difference& difference : answer->differences) EXPECT_NE(difference.trait.key, "session.id");
}

TEST(Differences, ConditionsHoldForTheRestToo) {
  DifferencesQuery query = slow_ones();
  query.selected.where = {{"region", "north"}};
  DifferencesAnswer answer = ask(query);
  EXPECT_EQ(answer.selected.spans, 100u);
  EXPECT_EQ(answer.rest.spans, 400u);
}

TEST(Differences, SurpriseGrowsWithDifferenceAndWithNumbers) {
  EXPECT_GT(surprise(90, 100, 10, 100), surprise(60, 100, 40, 100));
  EXPECT_GT(surprise(600, 1000, 400, 1000), surprise(60, 100, 40, 100));
  EXPECT_LT(surprise(10, 100, 90, 100), 0);
  EXPECT_EQ(surprise(1, 1, 0, 0), 0);
  EXPECT_NEAR(surprise(50, 100, 50, 100), 0, 1e-9);
}

TEST(Graph, EdgesOfTheSample) {
  testing::SampleStore store;
  store::QueryBudget budget;
  auto answer = run_graph(store, {kSampleStart, kSampleStart + kNanosPerHour}, kSampleStart + kNanosPerMinute, budget);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->services.services.size(), 2u);
  ASSERT_EQ(answer->calls.edges.size(), 1u);
  EXPECT_EQ(answer->calls.edges[0].caller.service, "gateway");
  EXPECT_EQ(answer->calls.edges[0].callee.service, "catalog");
  EXPECT_EQ(answer->calls.edges[0].calls, testing::kTraces);
  EXPECT_EQ(answer->calls.edges[0].errors, testing::kTraces / 3);
  EXPECT_EQ(answer->calls.traces, testing::kTraces);
  const std::string document = to_json(*answer);
  EXPECT_NE(document.find(R"("failed_unplaced":0,"traces_looked_at":30,"traces":30,)"
                          R"("counted_from_unix_nano":"1795221000000000000",)"
                          R"("counted_to_unix_nano":"1795221060000000000","counted_nano":60000000000})"),
            std::string::npos)
      << document;
}

}  // namespace
}  // namespace fathom::query
