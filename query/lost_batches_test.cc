// Answers are marked if acknowledged batches of their time are lost; other answers are not.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "net/uri.h"
#include "query/lost_batches.h"
#include "query/queries.h"
#include "query/routes.h"
#include "query/testing/sample_captures.h"
#include "query/testing/sample_store.h"
#include "query/timeline/timeline_query.h"

namespace fathom::query {
namespace {

using testing::kSampleStart;

constexpr uint64_t kFirst = kSampleStart + kNanosPerHour;
constexpr uint64_t kLast = kFirst + kNanosPerSecond;
// Spans were received late, and from a clock that runs ahead.
constexpr uint64_t kEarliest = kFirst - 30 * kNanosPerMinute;
constexpr uint64_t kLatest = kLast + kNanosPerMinute;

class LostBatchesTest : public ::testing::Test {
 protected:
  LostBatchesTest() {
    store_.lost = {loss(3)};
    captures_.lost = {loss(2)};
  }
  static store::Loss loss(std::optional<uint64_t> most_batches) {
    return {.first_received_unix_nano = kFirst,
            .last_received_unix_nano = kLast,
            .most_batches = most_batches,
            .earliest_start_unix_nano = kEarliest,
            .latest_start_unix_nano = kLatest};
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
    auto answer = routed->open_text ? text_of(*routed, budget) : routed->work({store_, &captures_}, budget);
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
  testing::SampleCaptures captures_;
};

TEST_F(LostBatchesTest, ALossTouchesTheTimesAtWhichItsSpansMayHaveStarted) {
  EXPECT_FALSE(touched(kSampleStart, kEarliest));
  EXPECT_TRUE(touched(kSampleStart, kEarliest + 1));
  EXPECT_TRUE(touched(kLatest, kLatest + 1));
  EXPECT_FALSE(touched(kLatest + 1, UINT64_MAX));
  EXPECT_TRUE(touched(0, UINT64_MAX));
}

TEST_F(LostBatchesTest, LossesAreAddedUp) {
  store_.lost.push_back(loss(4));
  store_.lost[1].first_received_unix_nano = kFirst - 5;
  store_.lost[1].last_received_unix_nano = kFirst;
  auto lost = lost_batches(store_, {});
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->losses, 2u);
  EXPECT_EQ(lost->first_received_unix_nano, kFirst - 5);
  EXPECT_EQ(lost->last_received_unix_nano, kLast);
  EXPECT_EQ(lost->most_batches, 7u);
  store_.lost.push_back(loss(std::nullopt));
  EXPECT_EQ(lost_batches(store_, {})->most_batches, std::nullopt) << "one unknown number makes the sum unknown";
}

TEST_F(LostBatchesTest, EveryKindOfAnswerIsMarked) {
  for (const char* path :
       {"slowest", "services", "operations", "latency", "attributes", "attributes/http.method/values", "heatmap",
        "differences", "graph", "captures", "snapshots"}) {
    const std::string target = "/api/v1/" + std::string(path);
    const auto marked = ask(target + "?since=1h");
    ASSERT_TRUE(marked.contains("lost_batches")) << path;
    const int64_t most = std::string_view(path) == "captures" ? 2 : 3;
    EXPECT_EQ(marked.at("lost_batches").at("most_batches").as_int64(), most) << path;
  }
}

TEST_F(LostBatchesTest, ALossOfCapturesMarksListsOfCapturesAlone) {
  store_.lost.clear();
  captures_.lost = {loss(0)};
  const auto list = ask("/api/v1/captures?since=1h");
  ASSERT_TRUE(list.contains("lost_batches"));
  EXPECT_EQ(list.at("lost_batches").at("most_batches").as_int64(), 0);
  EXPECT_FALSE(ask("/api/v1/slowest?since=1h").contains("lost_batches"));
}

// Of a trace, captures of any time are listed.
TEST_F(LostBatchesTest, AListOfCapturesIsMarkedByItsOwnRange) {
  captures_.lost[0].earliest_start_unix_nano = captures_.lost[0].latest_start_unix_nano = kSampleStart;
  EXPECT_FALSE(ask("/api/v1/captures?since=1m").contains("lost_batches"));
  const std::string of_trace = "/api/v1/captures?trace_id=" + testing::sample_trace_id(1).hex();
  EXPECT_TRUE(ask(of_trace).contains("lost_batches"));
  EXPECT_FALSE(ask(of_trace + "&since=1m").contains("lost_batches"));
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
    if (is_lost) store_.lost[0].earliest_start_unix_nano = kSampleStart;
    store::QueryBudget budget;
    EXPECT_EQ(is_marked(run_trace(store_, testing::sample_trace_id(1), budget)), is_lost);
    EXPECT_EQ(is_marked(run_timeline(store_, {.subject = {.trace = testing::sample_trace_id(1)}}, budget)), is_lost);
  }
}

}  // namespace
}  // namespace fathom::query
