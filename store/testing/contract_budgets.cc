// Every query ends when its budget does.
#include <utility>

#include "store/testing/contract.h"

namespace fathom::store::testing {
namespace {

using Query = std::pair<std::string, std::function<Result<>(SpanStore&, QueryBudget&)>>;

template <typename T>
Result<> outcome(const Result<T>& result) {
  return result ? Result<>() : Result<>(result.error());
}

std::vector<Query> all_queries() {
  Filter where;
  where.where = {{"db", "main"}};
  return {
      {"slowest traces", [](auto& s, auto& b) { return outcome(s.slowest({}, By::kTrace, 10, std::nullopt, b)); }},
      {"slowest spans", [](auto& s, auto& b) { return outcome(s.slowest({}, By::kSpan, 10, std::nullopt, b)); }},
      {"slowest where",
       [where](auto& s, auto& b) { return outcome(s.slowest(where, By::kTrace, 10, std::nullopt, b)); }},
      {"find", [](auto& s, auto& b) { return outcome(s.find({}, By::kTrace, 10, b)); }},
      {"trace", [](auto& s, auto& b) { return outcome(s.trace(test_trace_id(1), b)); }},
      {"operations", [](auto& s, auto& b) { return outcome(s.operations({}, std::nullopt, b)); }},
      {"keys", [](auto& s, auto& b) { return outcome(s.attribute_keys({}, b)); }},
      {"values", [](auto& s, auto& b) { return outcome(s.attribute_values({}, "db", "", 10, b)); }},
      {"latency",
       [](auto& s, auto& b) { return outcome(s.latency({}, std::nullopt, std::nullopt, kNanosPerMinute, b)); }},
      {"times",
       [](auto& s, auto& b) {
         return s.visit_times(
             {}, [](const TimesView&) {}, b);
       }},
      {"spans at most", [](auto& s, auto& b) { return outcome(s.spans_at_most({}, b)); }},
      {"sample",
       [](auto& s, auto& b) {
         return outcome(s.sample(
             {}, {}, [](const StoredSpan&) {}, b));
       }},
      {"first start", [](auto& s, auto& b) { return outcome(s.first_start({}, b)); }},
      {"calls", [](auto& s, auto& b) { return outcome(s.calls({}, 1000, b)); }},
  };
}

ErrorCode refusal(SpanStore& store, const Query& query, QueryBudget& budget) {
  Result<> answer = query.second(store, budget);
  if (!answer) return answer.error().code;
  ADD_FAILURE() << query.first << " answered in spite of its budget";
  return ErrorCode::kInternal;
}

std::vector<TestSpan> some_spans() {
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= 120; ++i) spans.push_back(test_span(i, 1, 0, i).with({"db", "main"}));
  return spans;
}

TEST_P(StoreContract, QueriesEndWhenCancelled) {
  add(some_spans());
  always([&] {
    for (const Query& query : all_queries()) {
      QueryBudget budget;
      budget.cancel();
      EXPECT_EQ(refusal(store(), query, budget), ErrorCode::kCancelled) << query.first;
    }
  });
}

TEST_P(StoreContract, QueriesEndAtTheirDeadline) {
  add(some_spans());
  always([&] {
    for (const Query& query : all_queries()) {
      QueryBudget budget(1, UINT64_MAX);
      EXPECT_EQ(refusal(store(), query, budget), ErrorCode::kDeadline) << query.first;
    }
  });
}

// What is not sealed yet is in memory, bounded already: reading it may cost nothing.
TEST_P(StoreContract, QueriesEndWhenTheirBytesAreSpent) {
  add(some_spans());
  ASSERT_TRUE(store().settle().ok());
  always([&] {
    for (const Query& query : all_queries()) {
      QueryBudget budget(UINT64_MAX, 1);
      EXPECT_EQ(refusal(store(), query, budget), ErrorCode::kExhausted) << query.first;
    }
  });
}

TEST_P(StoreContract, QueriesSayWhatTheySpent) {
  add(some_spans());
  ASSERT_TRUE(store().settle().ok());
  always([&] {
    for (const Query& query : all_queries()) {
      QueryBudget budget;
      EXPECT_TRUE(query.second(store(), budget).ok()) << query.first;
      EXPECT_GT(budget.spent_bytes(), 0u) << query.first;
      QueryBudget enough(UINT64_MAX, budget.most_bytes());
      EXPECT_TRUE(query.second(store(), enough).ok()) << query.first;
    }
  });
}

}  // namespace
}  // namespace fathom::store::testing
