#include "query/runner.h"

#include <gtest/gtest.h>

#include "base/metrics.h"

namespace fathom::query {
namespace {

// The faces are closed before the runner stops, but a request that is on its way between the two still gets an answer.
TEST(QueryRunner, RefusesAndCountsWhatComesAfterItsStop) {
  QueryRunner runner({.threads = 1});
  runner.stop();
  Counter& refused = counter("fathom_query_refused_total", "", "reason=\"stopping\"");
  uint64_t before = refused.value();
  bool ran = false;
  std::optional<Error> answer;
  runner.run({.name = "test",
              .budget = runner.make_budget(0),
              .work = [&](store::QueryBudget&) -> Result<> {
                ran = true;
                return {};
              },
              .done =
                  [&](const Result<>& result) {
                    if (!result) answer = result.error();
                  }});
  EXPECT_FALSE(ran);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused.value(), before + 1);
}

}  // namespace
}  // namespace fathom::query
