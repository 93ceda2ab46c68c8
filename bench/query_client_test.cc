#include "bench/query_client.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "bench/testing/fake_answers.h"

namespace fathom::bench {
namespace {

class QueryClientTest : public testing::Test {
 protected:
  Workload workload_{Shape::kShop, 4, {1'780'000'000 * kNanosPerSecond, 1'000'000}};
  TraceTable table_{workload_, 2000};
  BruteForce brute_force_{{&table_}};
  Question all_{0, UINT64_MAX};

  SlowestPage page_of(const std::vector<ExpectedTrace>& rows, const std::string& cursor = "") {
    auto page = parse_slowest(slowest_json(rows, cursor));
    EXPECT_TRUE(page.ok());
    return *page;
  }
};

TEST_F(QueryClientTest, TakesTheRightAnswer) {
  auto expected = brute_force_.slowest(all_, 20);
  SlowestPage page = page_of(expected, "next");
  EXPECT_EQ(page.next_cursor, "next");
  EXPECT_TRUE(expect_rows(page, expected, 0, 20).ok());
}

TEST_F(QueryClientTest, TakesALaterAndALastPage) {
  auto expected = brute_force_.slowest(all_, 50);
  EXPECT_TRUE(expect_rows(page_of({expected.begin() + 20, expected.begin() + 40}), expected, 20, 20).ok());
  EXPECT_TRUE(expect_rows(page_of({expected.begin() + 40, expected.end()}), expected, 40, 20).ok());
  EXPECT_TRUE(expect_rows(page_of({}), expected, 60, 20).ok());
}

TEST_F(QueryClientTest, NoticesEveryKindOfWrongAnswer) {
  auto expected = brute_force_.slowest(all_, 20);
  auto missing = expected;
  missing.pop_back();
  EXPECT_FALSE(expect_rows(page_of(missing), expected, 0, 20).ok());
  auto swapped = expected;
  std::swap(swapped[3], swapped[4]);
  EXPECT_FALSE(expect_rows(page_of(swapped), expected, 0, 20).ok());
  auto other = expected;
  other[7].duration_nano += 1;
  EXPECT_FALSE(expect_rows(page_of(other), expected, 0, 20).ok());
  auto late = expected;
  late[0].start_unix_nano -= 1;
  EXPECT_FALSE(expect_rows(page_of(late), expected, 0, 20).ok());
}

TEST_F(QueryClientTest, RefusesWhatIsNoAnswer) {
  for (const char* body : {"", "[]", "{}", "{\"rows\":3}", "{\"rows\":[1]}"}) EXPECT_FALSE(parse_slowest(body).ok());
}

TEST_F(QueryClientTest, ComparesATraceSpanBySpan) {
  std::string body = trace_json(workload_, 17);
  EXPECT_TRUE(expect_trace(body, workload_, 17).ok());
  EXPECT_FALSE(expect_trace(body, workload_, 18).ok());
  EXPECT_FALSE(expect_trace("{}", workload_, 17).ok());
  std::string session = session_of(workload_.facts(17));
  std::string altered = body;
  altered.replace(altered.rfind(session), session.size(), session_of(workload_.facts(18)));
  EXPECT_FALSE(expect_trace(altered, workload_, 17).ok());
  std::string name = operation_name(workload_.facts(17).route, 3);
  altered = body;
  altered.replace(altered.find(name), name.size(), "SELECT nothing");
  EXPECT_FALSE(expect_trace(altered, workload_, 17).ok());
}

TEST_F(QueryClientTest, NoticesASpanThatComesTwice) {
  std::string body = trace_json(workload_, 17);
  std::string first = workload_.facts(17).span_id(0).hex();
  std::string second = workload_.facts(17).span_id(1).hex();
  body.replace(body.find(second), second.size(), first);
  EXPECT_FALSE(expect_trace(body, workload_, 17).ok());
}

TEST_F(QueryClientTest, SpellsTheQuestion) {
  Question question{5, 9};
  EXPECT_EQ(slowest_target(question, 20, ""), "/api/v1/slowest?by=trace&from=5&to=9&limit=20");
  question.canary = true;
  EXPECT_EQ(slowest_target(question, 20, "a=b"),
            "/api/v1/slowest?by=trace&from=5&to=9&limit=20&where=tenant.tier%3Dcanary&cursor=a%3db");
  EXPECT_NE(slowest_target({5, 9, 2, false}, 20, "", 3).find("&service=catalog&operation=SELECT%20catalog.carts"),
            std::string::npos);
}

}  // namespace
}  // namespace fathom::bench
