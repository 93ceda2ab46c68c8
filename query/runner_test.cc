#include "query/runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

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

// Queries for the tests below: they use processors, or wait, until they are told to end.
class Turns : public ::testing::Test {
 protected:
  ~Turns() override {
    release_ = true;
    runner_.stop();
  }

  // Uses a processor until release().
  void ask_long(std::atomic<int>& finished) {
    ask(
        [this](store::QueryBudget& budget) -> Result<> {
          ++long_attempts_;
          while (!release_) {
            if (Result<> may = budget.check(); !may) return may;
          }
          return {};
        },
        [&finished](const Result<>& result) {
          EXPECT_TRUE(result) << result.error().message;
          ++finished;
        });
  }

  Result<> ask_short() {
    std::promise<Result<>> answer;
    ask([](store::QueryBudget& budget) { return budget.check(); },
        [&answer](const Result<>& result) { answer.set_value(result); }, "trace");
    return answer.get_future().get();
  }

  void ask(std::function<Result<>(store::QueryBudget&)> work, std::function<void(const Result<>&)> done,
           std::string_view name = "slowest") {
    runner_.run({.name = name, .budget = runner_.make_budget(0), .work = std::move(work), .done = std::move(done)});
  }

  static void wait_until(const std::function<bool()>& condition) {
    while (!condition()) std::this_thread::yield();
  }

  static uint64_t long_queries(const std::string& then) {
    return counter("fathom_query_long_total", "", "then=\"" + then + "\"").value();
  }

  QueryRunner runner_{{.threads = 2, .deadline_nano = 60'000'000'000}, Scheduling::kTurns};
  std::atomic<bool> release_{false};
  std::atomic<int> long_attempts_{0};
};

// Without turns the two threads would have the first two long queries until these end, and no other.
TEST_F(Turns, ShortQueriesAreAnsweredWhileLongOnesRun) {
  const uint64_t again = long_queries("began_again"), on = long_queries("went_on");
  std::atomic<int> finished{0};
  for (int i = 0; i < 4; ++i) ask_long(finished);
  wait_until([&] { return long_queries("began_again") == again + 2; });
  EXPECT_EQ(long_queries("went_on"), on + 2);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(ask_short());
  EXPECT_EQ(finished, 0);
  release_ = true;
  wait_until([&] { return finished == 4; });
  EXPECT_EQ(long_attempts_, 6);
}

TEST_F(Turns, AQueryThatBeginsAgainHasItsWholeBudget) {
  const uint64_t again = long_queries("began_again"), on = long_queries("went_on");
  std::atomic<int> finished{0};
  for (int i = 0; i < 2; ++i) ask_long(finished);
  wait_until([&] { return long_queries("went_on") == on + 2; });
  std::atomic<uint64_t> spent{0};
  ask(
      [&](store::QueryBudget& budget) -> Result<> {
        if (Result<> paid = budget.spend(1000); !paid) return paid;
        while (!release_) {
          if (Result<> may = budget.check(); !may) return may;
        }
        spent = budget.spent_bytes();
        return {};
      },
      [&finished](const Result<>&) { ++finished; });
  wait_until([&] { return long_queries("began_again") == again + 1; });
  release_ = true;
  wait_until([&] { return finished == 3; });
  EXPECT_EQ(spent, 1000u);
}

// First turns of long queries must not take all threads for short ones.
TEST_F(Turns, ANameThatIsMostlyLongLeavesAThreadToOthers) {
  std::atomic<int> finished{0};
  const uint64_t begun = long_queries("went_on") + long_queries("began_again");
  for (int i = 0; i < 8; ++i) ask_long(finished);
  wait_until([&] { return long_queries("went_on") + long_queries("began_again") == begun + 8; });
  release_ = true;
  wait_until([&] { return finished == 8; });
  // These do not look at their budget, so nothing ends their turns.
  std::atomic<int> held{0};
  std::atomic<bool> let_go{false};
  for (int i = 0; i < 2; ++i) {
    ask(
        [&](store::QueryBudget&) -> Result<> {
          ++held;
          while (!let_go) std::this_thread::yield();
          return {};
        },
        [&finished](const Result<>&) { ++finished; });
  }
  wait_until([&] { return held == 1; });
  EXPECT_TRUE(ask_short());
  EXPECT_EQ(held, 1);
  let_go = true;
  wait_until([&] { return finished == 10; });
}

TEST_F(Turns, StopEndsLongQueriesThatRunAndThatWait) {
  const uint64_t again = long_queries("began_again");
  std::atomic<int> cancelled{0};
  for (int i = 0; i < 4; ++i) {
    ask(
        [](store::QueryBudget& budget) -> Result<> {
          for (;;) {
            if (Result<> may = budget.check(); !may) return may;
          }
        },
        [&cancelled](const Result<>& result) {
          EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
          ++cancelled;
        });
  }
  wait_until([&] { return long_queries("began_again") == again + 2; });
  runner_.stop();
  EXPECT_EQ(cancelled, 4);
}

}  // namespace
}  // namespace fathom::query
