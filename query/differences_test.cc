#include "query/differences.h"

#include <gtest/gtest.h>

#include <set>

#include "base/process_attributes.h"
#include "base/span_threads.h"
#include "base/time.h"
#include "query/graph.h"
#include "query/testing/sample_store.h"

namespace fathom::query {
namespace {

using testing::kAfterSample;
using testing::kSampleStart;

// A thousand requests, every tenth of them slow. All slow ones are of version 2, most of them for a gold customer. The
// attributes that agents add to their resources are redundant with the host.
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
        {kProcessIdAttribute, store::ValueView::of_int(slow || n % 4 == 1 ? 2 : 1)},
        {kNodeIdAttribute, store::ValueView::of_string(slow || n % 4 == 1 ? "b" : "a")},
    };
    store::SpanView span;
    span.name = "pay";
    span.trace_id = testing::sample_trace_id(1000 + n);
    span.span_id = testing::sample_span_id(1);
    span.start_unix_nano = kAfterSample + n * kNanosPerSecond;
    span.end_unix_nano = span.start_unix_nano + (slow ? kNanosPerSecond : testing::kMilli);
    span.attributes = own;
    store.add(span, resource);
  }
}

DifferencesAnswer ask_differences(DifferencesQuery query, store::SpanStore& store) {
  store::QueryBudget budget;
  query.selected.range = {kAfterSample, kAfterSample + kNanosPerHour};
  query.view = query.selected.range;
  auto answer = run_differences(store, query, budget);
  EXPECT_TRUE(answer.ok());
  return answer ? *answer : DifferencesAnswer();
}

DifferencesAnswer ask_differences(const DifferencesQuery& query) {
  testing::SampleStore store;
  add_requests(store);
  return ask_differences(query, store);
}

std::string words(const Trait& trait) {
  std::string text(trait_of_name(trait.of));
  for (const std::string& part : {trait.service, trait.operation, trait.key}) text.append(" ").append(part);
  return text.append(" ").append(trait_is_name(trait.is)).append(" ").append(trait.value);
}

void add_span(testing::SampleStore& store, std::string_view service, store::SpanView span, uint64_t trace, uint64_t id,
              uint64_t nanos) {
  store::AttributeView resource[] = {{"service.name", store::ValueView::of_string(service)}};
  span.trace_id = testing::sample_trace_id(9000 + trace);
  span.span_id = testing::sample_span_id(id);
  if (id > 1) span.parent_span_id = testing::sample_span_id(1);
  span.start_unix_nano = kAfterSample + trace * kNanosPerSecond + id * testing::kMilli;
  span.end_unix_nano = span.start_unix_nano + nanos;
  store.add(span, resource);
}

// A gateway asks a cart and payments; the slow ones' cart takes long for one tenant, and payments are asked again.
void add_request_of_three(testing::SampleStore& store, uint64_t n, bool slow) {
  store::AttributeView tenant[] = {{"tenant", store::ValueView::of_string(slow || n % 50 == 1 ? "umbrella" : "acme")}};
  uint64_t load = slow ? (400 + n % 97) * testing::kMilli : (1 + n % 9) * testing::kMilli;
  add_span(store, "gateway", {.name = "GET /"}, n, 1, load + (slow ? 200 : 20) * testing::kMilli);
  add_span(store, "cart", {.name = "load", .attributes = tenant}, n, 2, load);
  auto status = slow ? store::StatusCode::kError : store::StatusCode::kUnset;
  add_span(store, "payments", {.name = "charge", .status = status}, n, 3, 2 * testing::kMilli);
  if (slow) add_span(store, "payments", {.name = "charge"}, n, 4, 2 * testing::kMilli);
}

DifferencesQuery slow_ones() {
  DifferencesQuery query;
  query.selected.min_duration_nano = kNanosPerSecond / 2;
  return query;
}

TEST(Differences, GreatestFirstWithCounts) {
  DifferencesAnswer answer = ask_differences(slow_ones());
  EXPECT_EQ(answer.selected.spans, 100u);
  EXPECT_EQ(answer.rest.spans, 900u);
  ASSERT_EQ(answer.differences.size(), 3u);
  const Difference& customer = answer.differences[0];
  EXPECT_EQ(customer.trait.key + "=" + customer.trait.value, "customer=gold");
  EXPECT_EQ(customer.sides.selected, 90u);
  EXPECT_EQ(customer.sides.others, 0u);
  const Difference& version = answer.differences[1];
  EXPECT_EQ(version.sides.selected, 100u);
  EXPECT_EQ(version.sides.others, 250u);
  // Two names for the same spans are told as one, and both are named.
  ASSERT_EQ(version.also.size(), 1u);
  EXPECT_EQ(version.trait.key + version.also[0].key, "host.nameservice.version");
  EXPECT_EQ(answer.differences[2].trait.value, "north");
}

TEST(Differences, WhatEachSpanHasOnceIsNoDifference) {
  for (const Difference& difference : ask_differences(slow_ones()).differences)
    EXPECT_NE(difference.trait.key, "request.id");
}

// Agents add it to all spans. In a service with one thread per client it would be the greatest difference.
TEST(Differences, AThreadIsNone) {
  testing::SampleStore store;
  for (uint64_t n = 0; n < 1000; ++n) {
    const bool slow = n % 10 == 0;
    store::AttributeView own[] = {{kThreadId, store::ValueView::of_int(slow ? 7 : 8)},
                                  {kStartThreadId, store::ValueView::of_int(slow ? 9 : 8)},
                                  {"customer", store::ValueView::of_string(slow ? "gold" : "lead")}};
    add_span(store, "checkout", {.name = "pay", .attributes = own}, n, 1, slow ? kNanosPerSecond : testing::kMilli);
  }
  DifferencesAnswer answer = ask_differences(slow_ones(), store);
  ASSERT_EQ(answer.differences.size(), 1u);
  EXPECT_EQ(answer.differences[0].trait.key, "customer");
  EXPECT_TRUE(answer.differences[0].also.empty());
}

TEST(Differences, OfASelectionOfNothingOrOfEverything) {
  DifferencesQuery none = slow_ones();
  none.selected.min_duration_nano = kNanosPerHour;
  EXPECT_EQ(ask_differences(none).selected.spans, 0u);
  EXPECT_TRUE(ask_differences(none).differences.empty());
  DifferencesAnswer all = ask_differences({});
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
    span.start_unix_nano = kAfterSample;
    span.end_unix_nano = kAfterSample + kNanosPerSecond;
    span.attributes = own;
    store.add(span, {});
  }
  store::QueryBudget budget;
  DifferencesQuery query = slow_ones();
  query.selected.range = {kAfterSample, kAfterSample + kNanosPerHour};
  query.view = query.selected.range;
  auto answer = run_differences(store, query, budget);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->selected.spans, 158u);
  for (const Difference& difference : answer->differences) EXPECT_NE(difference.trait.key, "session.id");
}

TEST(Differences, ConditionsHoldForTheRestToo) {
  DifferencesQuery query = slow_ones();
  query.selected.where = {{"region", "north"}};
  DifferencesAnswer answer = ask_differences(query);
  EXPECT_EQ(answer.selected.spans, 100u);
  EXPECT_EQ(answer.rest.spans, 400u);
}

// What only one of two operations says, and says as often whether it is slow or not, is no difference: the operation
// is.
TEST(Differences, AreAmongSpansOfTheSameOperation) {
  testing::SampleStore store;
  add_requests(store);
  for (uint64_t n = 0; n < 1000; ++n) {
    store::AttributeView own[] = {{"card", store::ValueView::of_string(n % 2 == 0 ? "visa" : "other")}};
    store::SpanView span;
    span.name = "charge";
    span.trace_id = testing::sample_trace_id(5000 + n);
    span.span_id = testing::sample_span_id(1);
    span.start_unix_nano = kAfterSample + n * kNanosPerSecond;
    span.end_unix_nano = span.start_unix_nano + (n % 4 < 2 ? kNanosPerSecond : testing::kMilli);
    span.attributes = own;
    store.add(span, {});
  }
  DifferencesQuery query = slow_ones();
  DifferencesAnswer answer = ask_differences(query, store);
  ASSERT_FALSE(answer.differences.empty());
  EXPECT_EQ(answer.differences[0].trait.value, "charge");
  bool gold = false;
  for (const Difference& difference : answer.differences) {
    EXPECT_NE(difference.trait.key, "card");
    gold = gold || difference.trait.value == "gold";
  }
  EXPECT_TRUE(gold);
}

TEST(Differences, NumbersAreToldByTheBoundThatPartsThem) {
  testing::SampleStore store;
  for (uint64_t n = 0; n < 1000; ++n) {
    auto items = static_cast<int64_t>(n * 37 % 100);
    store::AttributeView own[] = {{"cart.items", store::ValueView::of_int(items)},
                                  {"process.pid", store::ValueView::of_int(items * 1000 + static_cast<int64_t>(n))},
                                  {"weight", store::ValueView::of_double(static_cast<double>(n * 53 % 997) / 10)}};
    bool slow = n * 37 % 100 > 70;
    store::SpanView span;
    span.name = "pay";
    span.trace_id = testing::sample_trace_id(1000 + n);
    span.span_id = testing::sample_span_id(1);
    span.start_unix_nano = kAfterSample + n * kNanosPerSecond;
    span.end_unix_nano = span.start_unix_nano + (slow ? kNanosPerSecond : testing::kMilli);
    span.attributes = own;
    store.add(span, {});
  }
  DifferencesAnswer answer = ask_differences(slow_ones(), store);
  ASSERT_EQ(answer.differences.size(), 1u);
  EXPECT_EQ(answer.differences[0].trait.key, "cart.items");
  EXPECT_EQ(trait_is_name(answer.differences[0].trait.is), ">=");
  EXPECT_EQ(answer.differences[0].trait.value, "71");
  EXPECT_EQ(answer.differences[0].sides.selected, 290u);
  EXPECT_EQ(answer.differences[0].sides.others, 0u) << "a pid parts them as well, but is a name";
}

uint64_t drawn(uint64_t n, uint64_t below) {
  uint64_t word = (n + 1) * 0x9e3779b97f4a7c15ULL;
  word = (word ^ word >> 31) * 0xbf58476d1ce4e5b9ULL;
  return (word ^ word >> 29) % below;
}

// Payments of five hundred customers; `is_slow` says of a customer and a payment whether it is.
void add_payments(testing::SampleStore& store, uint64_t payments, bool (*is_slow)(uint64_t customer, uint64_t n)) {
  for (uint64_t n = 0; n < payments; ++n) {
    uint64_t customer = drawn(n, 500);
    std::string name = "cust-" + std::to_string(customer);
    store::AttributeView own[] = {{"customer", store::ValueView::of_string(name)}};
    store::SpanView span;
    span.name = "pay";
    span.trace_id = testing::sample_trace_id(1000 + n);
    span.span_id = testing::sample_span_id(1);
    span.start_unix_nano = kAfterSample + n * kNanosPerSecond / 2;
    span.end_unix_nano = span.start_unix_nano + (is_slow(customer, n) ? kNanosPerSecond : testing::kMilli);
    span.attributes = own;
    store.add(span, {});
  }
}

TEST(Differences, ManyValuesThatTogetherAreSlowAreOneDifference) {
  testing::SampleStore store;
  add_payments(store, 3000, [](uint64_t customer, uint64_t) { return customer % 50 == 7; });
  DifferencesAnswer answer = ask_differences(slow_ones(), store);
  ASSERT_EQ(answer.differences.size(), 1u);
  const Difference& group = answer.differences[0];
  EXPECT_EQ(words(group.trait), "attribute   customer in ");
  EXPECT_EQ(group.sides.selected, answer.selected.shown);
  EXPECT_EQ(group.sides.others, 0u);
  EXPECT_EQ(std::set(group.values.begin(), group.values.end()),
            (std::set<std::string>{"cust-7", "cust-57", "cust-107", "cust-157", "cust-207", "cust-257", "cust-307",
                                   "cust-357", "cust-407", "cust-457"}));
  EXPECT_NE(to_json(answer).find(R"("is":"in","value":"",)"), std::string::npos);
  EXPECT_NE(to_json(answer).find(R"("also":[],"values":["cust-)"), std::string::npos);
}

TEST(Differences, ValuesThatGatherByChanceAreNone) {
  for (uint64_t spans : {300, 1000, 3000}) {
    testing::SampleStore store;
    add_payments(store, spans, [](uint64_t, uint64_t n) { return drawn(n + 77'777, 20) == 0; });
    EXPECT_TRUE(ask_differences(slow_ones(), store).differences.empty()) << spans;
  }
}

// All spans of a request have its id, and those of some requests are slow.
TEST(Differences, IdsThatSpansOfATraceShareAreNoGroup) {
  testing::SampleStore store;
  for (uint64_t n = 0; n < 200; ++n) {
    const std::string id = "id-" + std::to_string(n);
    store::AttributeView own[] = {{"request", store::ValueView::of_string(id)}};
    for (uint64_t i = 1; i <= 10; ++i)
      add_span(store, "cart", {.name = "step", .attributes = own}, n, i,
               n % 20 == 0 ? kNanosPerSecond : testing::kMilli);
  }
  EXPECT_TRUE(ask_differences(slow_ones(), store).differences.empty());
}

// Some are slow among many more of other kinds: they are compared with their like, of which there are enough.
TEST(Differences, RequestsAreComparedWithOthersOfTheirKind) {
  testing::SampleStore store;
  for (uint64_t n = 0; n < 3000; ++n) {
    if (n % 50 != 0) {
      add_span(store, "gateway", {.name = "GET /"}, n, 1, testing::kMilli);
      continue;
    }
    bool slow = n % 300 == 0;
    store::AttributeView card[] = {{"card", store::ValueView::of_string(slow ? "jcb" : "visa")}};
    add_span(store, "gateway", {.name = "POST /"}, n, 1, slow ? kNanosPerSecond : testing::kMilli);
    add_span(store, "payments", {.name = "charge", .attributes = card}, n, 2, testing::kMilli / 2);
  }
  DifferencesQuery query = slow_ones();
  query.requests = true;
  DifferencesAnswer answer = ask_differences(query, store);
  EXPECT_EQ(answer.selected.shown, 10u);
  EXPECT_EQ(answer.rest.shown, 50u);
  ASSERT_FALSE(answer.differences.empty());
  std::set<std::string> told;
  for (const Difference& difference : answer.differences) told.insert(words(difference.trait));
  EXPECT_TRUE(told.contains("attribute payments  card = jcb"));
}

// Of requests: the root knows nothing, the slow child's tenant and the host of the one that failed are told.
TEST(Differences, OfRequestsAreWhatTheirOtherSpansSay) {
  testing::SampleStore store;
  for (uint64_t n = 0; n < 400; ++n) add_request_of_three(store, n, n % 20 == 0);
  DifferencesQuery query = slow_ones();
  query.selected.service = "gateway";
  EXPECT_TRUE(ask_differences(query, store).differences.empty());
  query.requests = true;
  DifferencesAnswer answer = ask_differences(query, store);
  EXPECT_EQ(answer.selected.shown, 20u);
  std::set<std::string> told;
  for (const Difference& difference : answer.differences) {
    told.insert(words(difference.trait));
    for (const Trait& trait : difference.also) told.insert(words(trait));
  }
  EXPECT_TRUE(told.contains("attribute cart  tenant = umbrella"));
  EXPECT_TRUE(told.contains("error payments charge  = "));
  EXPECT_TRUE(told.contains("calls payments charge  >= 2"));
  EXPECT_TRUE(told.contains("self_time cart load  >= 400000000"));
  EXPECT_FALSE(told.contains("self_time gateway GET /  >= 400000000"));
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
