// visit_times(), spans_at_most(), sample() and calls(), of so few spans that all of them are looked at.
#include <algorithm>
#include <set>

#include "store/testing/contract.h"

namespace fathom::store::testing {
namespace {

// "start duration error", with starts from kTestNow.
std::multiset<std::string> times(SpanStore& store, const Filter& filter) {
  std::multiset<std::string> found;
  QueryBudget budget;
  Result<> done = store.visit_times(
      filter,
      [&](const TimesView& view) {
        for (size_t i = 0; i < view.error.size(); ++i) {
          found.insert(std::to_string(view.start_unix_nano[i] - kTestNow) + " " +
                       std::to_string(view.duration_nano[i]) + (view.error[i] != 0 ? " error" : ""));
        }
      },
      budget);
  EXPECT_TRUE(done.ok());
  return found;
}

using Texts = std::multiset<std::string>;

TEST_P(StoreContract, TimesOfTheSpansThatMatch) {
  add({test_span(1, 1, 0, 10), test_span(2, 1, 5, 20).failed(), test_span(3, 1, 9, 30).of_service("stock"),
       test_span(4, 1, 10, 40).named("POST /").with({"tier", "gold"})});
  always([&] {
    EXPECT_EQ(times(store(), {}), (Texts{"0 10", "5 20 error", "9 30", "10 40"}));
    EXPECT_EQ(times(store(), in_range(kTestNow + 5, kTestNow + 10)), (Texts{"5 20 error", "9 30"}));
    EXPECT_EQ(times(store(), in_service("stock")), (Texts{"9 30"}));
    Filter filter;
    filter.min_duration_nano = 20;
    filter.max_duration_nano = 30;
    EXPECT_EQ(times(store(), filter), (Texts{"5 20 error", "9 30"}));
    filter = {};
    filter.errors = true;
    EXPECT_EQ(times(store(), filter), (Texts{"5 20 error"}));
    filter = {};
    filter.operation = "POST /";
    EXPECT_EQ(times(store(), filter), (Texts{"10 40"}));
    filter.where = {{"tier", "gold"}};
    EXPECT_EQ(times(store(), filter), (Texts{"10 40"}));
    filter.where = {{"tier", "lead"}};
    EXPECT_EQ(times(store(), filter), Texts{});
    EXPECT_EQ(times(store(), in_service("nobody")), Texts{});
  });
}

TEST_P(StoreContract, TimesAreCorrected) {
  add({test_span(1, 1, 100, 10)}, ClockOffset{-40, 1});
  always([&] {
    EXPECT_EQ(times(store(), in_range(kTestNow + 60, kTestNow + 61)), Texts{"60 10"});
    EXPECT_EQ(times(store(), in_range(kTestNow + 100, kTestNow + 101)), Texts{});
  });
}

TEST_P(StoreContract, SpansAtMostAreNeverTooFew) {
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= 50; ++i) spans.push_back(test_span(i, 1, static_cast<int64_t>(i), 10));
  add(spans);
  always([&] {
    QueryBudget budget;
    for (uint64_t to : {1, 20, 1000}) {
      Result<uint64_t> most = store().spans_at_most({kTestNow, kTestNow + to}, budget);
      ASSERT_TRUE(most.ok());
      EXPECT_GE(*most, std::min<uint64_t>(to - 1, 50));
    }
    Result<uint64_t> later = store().spans_at_most({kTestNow + 24 * kNanosPerHour, UINT64_MAX}, budget);
    ASSERT_TRUE(later.ok());
    EXPECT_LE(*later, 50u);
  });
}

TEST_P(StoreContract, ASampleOfFewSpansIsAllOfThem) {
  TestSpan first = test_span(1, 1, 0, 10).with({"tier", "gold"}).failed();
  first.resource.attributes.push_back({"host.name", "h1"});
  add({first, test_span(2, 1, 0, 20).with({"tier", "lead"}), test_span(3, 1, 50, 30).with({"tier", "gold"})});
  auto sampled = [&](const Filter& filter, SampleCount& count) {
    Texts found;
    QueryBudget budget;
    auto visit = [&](const StoredSpan& stored) {
      std::string text = std::string(stored.service) + "/" + std::string(stored.operation);
      for (const auto& one : stored.span.attributes) text += " " + std::string(one.key) + "=" + value_text(one.value);
      for (const auto& one : stored.resource.attributes) {
        text += " " + std::string(one.key) + "=" + value_text(one.value);
      }
      found.insert(text + " " + std::to_string(stored.span.duration_nano()));
    };
    Result<SampleCount> answer = store().sample(filter, {}, visit, budget);
    EXPECT_TRUE(answer.ok());
    if (answer) count = *answer;
    return found;
  };
  always([&] {
    SampleCount count;
    EXPECT_EQ(sampled({}, count),
              (Texts{"shop/GET / tier=gold service.name=shop host.name=h1 10",
                     "shop/GET / tier=lead service.name=shop 20", "shop/GET / tier=gold service.name=shop 30"}));
    EXPECT_EQ(count.spans, 3u);
    EXPECT_EQ(count.shown, 3u);
    EXPECT_FALSE(count.estimated);
    Filter filter = in_range(kTestNow, kTestNow + 50);
    filter.where = {{"tier", "gold"}};
    EXPECT_EQ(sampled(filter, count), (Texts{"shop/GET / tier=gold service.name=shop host.name=h1 10"}));
    EXPECT_EQ(count.spans, 1u);
    filter.min_duration_nano = 11;
    EXPECT_EQ(sampled(filter, count), Texts{});
    EXPECT_EQ(count.spans, 0u);
  });
}

TEST_P(StoreContract, ASampleShowsNoMoreThanWasAskedFor) {
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= 200; ++i) spans.push_back(test_span(i, 1, 0, i));
  add(spans);
  always([&] {
    QueryBudget budget;
    std::set<uint64_t> shown;
    Result<SampleCount> count = store().sample(
        {}, {.shown = 20}, [&](const StoredSpan& stored) { shown.insert(stored.span.duration_nano()); }, budget);
    ASSERT_TRUE(count.ok());
    EXPECT_EQ(count->spans, 200u);
    EXPECT_EQ(count->shown, shown.size());
    EXPECT_LE(shown.size(), 20u);
    EXPECT_GE(shown.size(), 1u);
  });
}

std::vector<std::string> edges(SpanStore& store, const TimeRange& range) {
  QueryBudget budget;
  Result<CallSample> sample = store.calls(range, 1'000'000, budget);
  EXPECT_TRUE(sample.ok());
  std::vector<std::string> found;
  for (const CallEdge& edge : sample->edges) {
    found.push_back(edge.caller.service + ">" + edge.callee.service + " " + std::to_string(edge.calls) + " " +
                    std::to_string(edge.errors) + " " + std::to_string(edge.durations.max_nano()));
  }
  if (sample->failed_unplaced > 0) found.push_back(std::to_string(sample->failed_unplaced) + " unplaced");
  found.push_back(std::to_string(sample->spans_looked_at) + " of " + std::to_string(sample->spans) + ", " +
                  std::to_string(sample->traces_looked_at) + " of " + std::to_string(sample->traces));
  return found;
}

TEST_P(StoreContract, CallsAreSpansWhoseParentIsAnotherServices) {
  add({test_span(1, 1, 0, 100), test_span(1, 2, 1, 50).parent(1), test_span(1, 3, 2, 40).parent(2).of_service("stock"),
       test_span(1, 4, 3, 30).parent(3).of_service("stock").failed(), test_span(2, 1, 0, 90).of_service("stock")});
  always([&] { EXPECT_EQ(edges(store(), {}), (Ids{"shop>stock 1 0 40", "5 of 5, 2 of 2"})); });
}

// A trace comes in pieces, and each span counts once, wherever its parent is.
TEST_P(StoreContract, CallersAreFoundInOtherBatches) {
  add({test_span(1, 2, 1, 50).parent(1).of_service("stock").failed()});
  ASSERT_TRUE(store().settle().ok());
  add({test_span(1, 1, 0, 100), test_span(1, 3, 2, 20).parent(2).of_service("bank")});
  add({test_span(2, 3, 2, 30).parent(9).of_service("bank")});
  always([&] {
    std::vector<std::string> found = edges(store(), {});
    EXPECT_EQ(found[0], "shop>stock 1 1 50");
    EXPECT_EQ(found[1], "stock>bank 1 0 20");
    EXPECT_EQ(found[2], "4 of 4, 2 of 2") << "a trace in two pieces is one";
    EXPECT_EQ(edges(store(), {kTestNow + 2, UINT64_MAX}).front(), "stock>bank 1 0 20");
  });
}

TestSpan client(uint64_t trace, uint64_t id, uint64_t parent) {
  TestSpan span = test_span(trace, id, static_cast<int64_t>(id), 1000 + id).parent(parent).named("call");
  span.kind = SpanKind::kClient;
  return span;
}
TestSpan answer(uint64_t trace, uint64_t id, uint64_t parent) {
  return test_span(trace, id, static_cast<int64_t>(id), 10 + id).parent(parent).of_service("stock");
}

// A call fails where either side says so, once where both do; and only the call's own span speaks for the caller.
TEST_P(StoreContract, ACallFailsWhereEitherSideDoes) {
  add({test_span(1, 1, 0, 100), client(1, 2, 1), answer(1, 3, 2)});
  add({test_span(2, 1, 0, 100), client(2, 2, 1).failed(), answer(2, 3, 2)});
  add({test_span(3, 1, 0, 100), client(3, 2, 1).failed(), answer(3, 3, 2).failed()});
  add({test_span(4, 1, 0, 100), client(4, 2, 1), answer(4, 3, 2).failed()});
  add({test_span(5, 1, 0, 100).failed(), answer(5, 3, 1)});
  always([&] { EXPECT_EQ(edges(store(), {}), (Ids{"shop>stock 5 3 13", "14 of 14, 5 of 5"})); });
}

TEST_P(StoreContract, AFailedCallWithoutAnAnswerIsPlacedByThoseThatWereAnswered) {
  add({test_span(1, 1, 0, 100), client(1, 2, 1), answer(1, 3, 2)});
  add({test_span(2, 1, 0, 100), client(2, 4, 1).failed(), client(2, 5, 1), client(2, 6, 1).failed().named("other")});
  always([&] { EXPECT_EQ(edges(store(), {}), (Ids{"shop>stock 2 1 1004", "1 unplaced", "7 of 7, 2 of 2"})); });
  // Now calls by this name go to two services, so that of the failed one is open.
  add({test_span(3, 1, 0, 100), client(3, 2, 1), answer(3, 3, 2).of_service("bank")});
  always([&] {
    EXPECT_EQ(edges(store(), {}), (Ids{"shop>bank 1 0 13", "shop>stock 1 0 13", "2 unplaced", "10 of 10, 3 of 3"}));
  });
}

TEST_P(StoreContract, AFailedCallWithoutAnAnswerIsPlacedByItsPeer) {
  add({test_span(1, 1, 0, 100).of_service("stock"), test_span(1, 2, 0, 100).of_service("north", "bank"),
       test_span(1, 3, 0, 100).of_service("south", "bank")});
  add({client(2, 4, 0).failed().with({"peer.service", "stock"}), client(2, 5, 0).with({"peer.service", "stock"}),
       client(2, 6, 0).failed().with({"peer.service", "database"}),
       client(2, 7, 0).failed().with({"peer.service", "bank"}),
       client(2, 8, 0).failed().of_service("south", "shop").with({"peer.service", "bank"})});
  always([&] {
    EXPECT_EQ(edges(store(), {}), (Ids{"shop>stock 1 1 1004", "shop>bank 1 1 1008", "2 unplaced", "8 of 8, 2 of 2"}))
        << "a service without spans is none of the graph, and one of two namespaces is not guessed";
  });
}

// Its answer may be in another batch; what is below it in its own service is none, but for another client's span.
TEST_P(StoreContract, OnlyTheInnermostUnansweredSpanIsTheCall) {
  add({test_span(1, 1, 0, 100), client(1, 2, 1).failed(), client(1, 4, 2).failed(), test_span(1, 5, 0, 1).parent(4)});
  add({client(2, 2, 1).failed()});
  ASSERT_TRUE(store().settle().ok());
  add({answer(2, 3, 2)});
  always([&] { EXPECT_EQ(edges(store(), {}), (Ids{"shop>stock 2 2 1004", "6 of 6, 2 of 2"})); });
}

TEST_P(StoreContract, TheFirstStartInARange) {
  QueryBudget budget;
  const auto first = [&](const TimeRange& range) { return store().first_start(range, budget).value(); };
  always([&] { EXPECT_EQ(first({}), std::nullopt); });
  add({test_span(1, 1, 100, 10), test_span(1, 2, 300, 10)});
  add({test_span(2, 1, 200, 10), test_span(2, 2, 50, 1000)}, ClockOffset{5, 0});
  always([&] {
    EXPECT_EQ(first({}), kTestNow + 55);
    EXPECT_EQ(first({kTestNow + 56, kTestNow + 1000}), kTestNow + 100);
    EXPECT_EQ(first({kTestNow + 101, kTestNow + 206}), kTestNow + 205);
    EXPECT_EQ(first({kTestNow + 101, kTestNow + 205}), std::nullopt);
    EXPECT_EQ(first({kTestNow + 301, UINT64_MAX}), std::nullopt);
  });
}

}  // namespace
}  // namespace fathom::store::testing
