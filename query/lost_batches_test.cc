// Answers are marked if acknowledged batches of their time are lost; other answers are not.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/time.h"
#include "net/uri.h"
#include "query/lost_batches.h"
#include "query/queries.h"
#include "query/routes.h"
#include "query/testing/sample_store.h"
#include "query/timeline/timeline_query.h"

namespace fathom::query {
namespace {

using testing::kSampleStart;

constexpr uint64_t kFirst = kSampleStart + kNanosPerHour;
constexpr uint64_t kLast = kFirst + kNanosPerSecond;

class LostBatchesTest : public ::testing::Test {
 protected:
  LostBatchesTest() {
    store_.lost = {{.first_received_unix_nano = kFirst, .last_received_unix_nano = kLast, .most_batches = 3}};
  }

  bool touched(uint64_t from, uint64_t to) { return lost_batches(store_, {from, to}).has_value(); }

  boost::json::object ask(const std::string& target) {
    auto parsed = net::parse_target(target);
    net::HttpRequest request;
    request.path = parsed->path;
    request.query = parsed->query;
    auto routed = route(request, kLast, kNanosPerMinute);
    EXPECT_TRUE(routed.ok()) << target;
    store::QueryBudget budget;
    auto answer = routed->open_text ? text_of(*routed, budget) : routed->work(store_, budget);
    EXPECT_TRUE(answer.ok()) << target;
    return boost::json::parse(*answer).as_object();
  }
  // Of an answer that is made while it is sent.
  Result<std::string> text_of(const RoutedQuery& routed, store::QueryBudget& budget) {
    auto text = routed.open_text(store_, budget);
    if (!text) return text.error();
    std::string whole;
    while (!(*text)->is_complete()) whole += (*text)->next(1000);
    return whole;
  }

  testing::SampleStore store_;
};

TEST_F(LostBatchesTest, ALossTouchesTheTimeOfItsReceptionAndTenMinutesBefore) {
  const uint64_t earliest = kFirst - 10 * kNanosPerMinute;
  EXPECT_FALSE(touched(kSampleStart, earliest));
  EXPECT_TRUE(touched(kSampleStart, earliest + 1));
  EXPECT_TRUE(touched(kLast, kLast + 1));
  EXPECT_FALSE(touched(kLast + 1, UINT64_MAX));
  EXPECT_TRUE(touched(0, UINT64_MAX));
}

TEST_F(LostBatchesTest, LossesAreAddedUp) {
  store_.lost.push_back({.first_received_unix_nano = kFirst - 5, .last_received_unix_nano = kFirst, .most_batches = 4});
  auto lost = lost_batches(store_, {});
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->losses, 2u);
  EXPECT_EQ(lost->first_received_unix_nano, kFirst - 5);
  EXPECT_EQ(lost->last_received_unix_nano, kLast);
  EXPECT_EQ(lost->most_batches, 7u);
  store_.lost.push_back({.first_received_unix_nano = kFirst, .last_received_unix_nano = kFirst});
  EXPECT_EQ(lost_batches(store_, {})->most_batches, std::nullopt) << "one unknown number makes the sum unknown";
}

TEST_F(LostBatchesTest, EveryKindOfAnswerIsMarked) {
  for (const char* path :
       {"slowest", "services", "operations", "latency", "attributes", "attributes/http.method/values", "heatmap",
        "differences", "graph", "captures", "snapshots"}) {
    const std::string target = "/api/v1/" + std::string(path);
    const auto marked = ask(target + "?since=1h");
    ASSERT_TRUE(marked.contains("lost_batches")) << path;
    EXPECT_EQ(marked.at("lost_batches").at("most_batches").as_int64(), 3) << path;
  }
}

TEST_F(LostBatchesTest, AnswersAboutOtherTimesAreNotMarked) {
  const std::string early = "?from=" + std::to_string(kSampleStart) + "&to=" + std::to_string(kSampleStart + 1);
  EXPECT_FALSE(ask("/api/v1/slowest" + early).contains("lost_batches"));
  EXPECT_FALSE(ask("/api/v1/operations" + early).contains("lost_batches"));
}

TEST_F(LostBatchesTest, ATraceOfThatTimeIsMarked) {
  auto is_marked = [&](const Result<std::string>& document) {
    EXPECT_TRUE(document.ok());
    return boost::json::parse(*document).as_object().contains("lost_batches");
  };
  for (const bool is_lost : {false, true}) {
    if (is_lost) store_.lost[0].first_received_unix_nano = kSampleStart;
    store::QueryBudget budget;
    EXPECT_EQ(is_marked(run_trace(store_, testing::sample_trace_id(1), budget)), is_lost);
    EXPECT_EQ(is_marked(run_timeline(store_, {.subject = {.trace = testing::sample_trace_id(1)}}, budget)), is_lost);
  }
}

}  // namespace
}  // namespace fathom::query
