#include "bench/query_steps.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "bench/testing/fake_answers.h"
#include "bench/testing/scripted_grpc_server.h"

namespace fathom::bench {
namespace {

// Two hours with 20,000 traces each, so that an hour has a fiftieth page.
constexpr Schedule kSparseSchedule{1'780'000'000 * kNanosPerSecond, 180'000'000};
constexpr uint64_t kQueriedTraces = 40'000;
constexpr size_t kRounds = 4;

class QueryStepsTest : public testing::Test {
 protected:
  Workload workload_{Shape::kShop, 4, kSparseSchedule};
  TraceTable table_{workload_, kQueriedTraces};
  QueryPlan plan_{table_, 9, kRounds};
  ScriptedGrpcServer collector_{[](size_t) { return ScriptedAnswer{}; }};

  Result<> run(const FakeQueryServer& server, size_t walks, QueryLatencies* latencies = nullptr) {
    QueryRounds rounds(plan_, server.address(), collector_.address(), 3, walks);
    Result<> done = rounds.run(0);
    if (latencies != nullptr) *latencies = rounds.latencies();
    return done;
  }
};

TEST_F(QueryStepsTest, MeasuresEveryKeyOncePerRound) {
  FakeQueryServer server(table_);
  QueryLatencies latencies;
  Result<> done = run(server, 1, &latencies);
  ASSERT_TRUE(done.ok()) << done.error().message;
  for (const Latencies* one : {&latencies.hour, &latencies.day, &latencies.where, &latencies.page_50,
                               &latencies.trace_by_id, &latencies.found}) {
    EXPECT_EQ(one->count(), kRounds);
    EXPECT_GT(one->p50_ms(), 0);
  }
  EXPECT_EQ(server.pages_served(), 49 + kRounds - 1) << "one walk of 49 cursors, the others one each";
  EXPECT_EQ(collector_.requests().size(), kRounds) << "one probe per round";
}

TEST_F(QueryStepsTest, FailsLoudlyWhenARowIsMissing) {
  FakeQueryServer server(table_, [](std::vector<ExpectedTrace>& rows) { rows.erase(rows.begin()); });
  Result<> done = run(server, 0);
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("GET /api/v1/slowest?"), std::string::npos);
}

TEST_F(QueryStepsTest, FailsLoudlyWhenADurationDiffers) {
  FakeQueryServer server(table_, [](std::vector<ExpectedTrace>& rows) { rows.back().duration_nano += 1; });
  Result<> done = run(server, 0);
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("expected "), std::string::npos);
}

TEST_F(QueryStepsTest, RangesAreOfTheStatedLengthAndArbitrary) {
  for (size_t round = 0; round < kRounds; ++round) {
    const Question& hour = plan_.hour(round).question;
    EXPECT_EQ(hour.to_unix_nano - hour.from_unix_nano, kNanosPerHour);
    EXPECT_NE(hour.from_unix_nano % 1000, 0u);
    EXPECT_GE(hour.from_unix_nano, kSparseSchedule.start_unix_nano);
    EXPECT_LE(hour.to_unix_nano, table_.start_unix_nano(kQueriedTraces - 1));
    EXPECT_TRUE(plan_.where(round).question.canary);
    EXPECT_EQ(plan_.page(round).expected.size(), kFiftiethPageFirst + kPageRows);
  }
}

TEST_F(QueryStepsTest, VerifiesWhatCameInAfterwards) {
  FakeQueryServer right(table_);
  Workload none(Shape::kShop, 5, {kSparseSchedule.start_unix_nano + kNanosPerHour, 100});
  TraceTable other(none, 50);
  EXPECT_FALSE(verify_after(right.address(), table_, other, 4).ok()) << "the fake does not know the other table";
}

}  // namespace
}  // namespace fathom::bench
