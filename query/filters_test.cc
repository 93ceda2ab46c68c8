// The filters of /api/v1/slowest from the address to the rows: how values, keys, times and switches may be written.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/time.h"
#include "net/uri.h"
#include "query.pb.h"
#include "query/proto_convert.h"
#include "query/routes.h"
#include "query/testing/sample_store.h"

namespace fathom::query {
namespace {

using store::AttributeView;
using store::ValueView;
using testing::kMilli;
using testing::kSampleStart;
using testing::sample_span_id;
using testing::sample_trace_id;

constexpr uint64_t kSomeNow = kSampleStart + kNanosPerMinute;

class FiltersTest : public ::testing::Test {
 protected:
  // One trace of one span with one attribute.
  void add(uint64_t number, std::string_view key, const ValueView& value) {
    AttributeView attributes[] = {{key, value}};
    store::SpanView span;
    span.trace_id = sample_trace_id(number);
    span.span_id = sample_span_id(number);
    span.start_unix_nano = kSampleStart;
    span.end_unix_nano = kSampleStart + kMilli;
    span.name = "one";
    span.attributes = attributes;
    store_.add(span, {});
  }

  Result<std::string> ask(const std::string& target) {
    auto parsed = net::parse_target(target);
    if (!parsed) return parsed.error();
    net::HttpRequest request;
    request.path = parsed->path;
    request.query = parsed->query;
    auto routed = route(request, kSomeNow, kNanosPerMinute);
    if (!routed) return routed.error();
    store::QueryBudget budget;
    return routed->work(store_, budget);
  }
  boost::json::object answer(const std::string& filter) {
    auto body = ask("/api/v1/slowest?limit=1000&" + filter);
    EXPECT_TRUE(body.ok()) << filter << ": " << (body.ok() ? "" : body.error().message);
    return body.ok() ? boost::json::parse(*body).as_object() : boost::json::object{};
  }
  size_t rows(const std::string& filter) { return answer(filter)["rows"].as_array().size(); }

  testing::SampleStore store_;
};

TEST_F(FiltersTest, ValuesAreFoundAsTheAnswersPrintThem) {
  add(100, "ratio", ValueView::of_double(3));
  add(101, "ratio", ValueView::of_int(3));
  add(102, "ratio", ValueView::of_double(1e5));
  add(103, "ratio", ValueView::of_double(-std::numeric_limits<double>::infinity()));
  EXPECT_EQ(rows("where=ratio=3.0"), 2u);
  EXPECT_EQ(rows("where=ratio=3"), 2u);
  EXPECT_EQ(rows("where=ratio=100000.0"), 1u);
  EXPECT_EQ(rows("where=ratio=1e%2B05"), 1u);
  EXPECT_EQ(rows("where=ratio=-Infinity"), 1u);
  EXPECT_EQ(rows("where=ratio=Infinity"), 0u);
}

TEST_F(FiltersTest, AKeyWithAnEqualsSignIsQuoted) {
  add(100, "k", ValueView::of_string("eq=v"));
  add(101, "k=eq", ValueView::of_string("v"));
  EXPECT_EQ(rows("where=k=eq=v"), 1u);
  EXPECT_EQ(rows("where=%22k=eq%22=v"), 1u);
  EXPECT_EQ(rows("where=%22k=eq%22&where=!k"), 1u);
  EXPECT_EQ(rows("where=k=eq"), 0u);
}

TEST_F(FiltersTest, RangesAreOfNumbers) {
  add(100, "amount", ValueView::of_int(500));
  add(101, "amount", ValueView::of_double(500.5));
  add(102, "amount", ValueView::of_int(1500));
  add(103, "amount", ValueView::of_string("600"));
  EXPECT_EQ(rows("where=amount>=500"), 3u);
  EXPECT_EQ(rows("where=amount%20%3E%20500"), 2u);
  EXPECT_EQ(rows("where=amount>500&where=amount<1e3"), 1u);
  EXPECT_EQ(rows("where=amount!=500"), 3u);
  EXPECT_EQ(rows("where=amount"), 4u);
  EXPECT_EQ(rows("from=0&to=now&where=!amount"), testing::kTraces);
}

TEST_F(FiltersTest, WhatIsNoConditionIsRefusedWhereverConditionsAre) {
  for (const char* path : {"slowest", "heatmap", "differences"}) {
    auto refused = ask(std::string("/api/v1/") + path + "?where=amount%20%3E%20many");
    ASSERT_FALSE(refused.ok()) << path;
    EXPECT_EQ(refused.error().message.find("'where': > takes a number, and 'many' is none: a condition is KEY=VALUE"),
              0u)
        << refused.error().message;
  }
}

TEST_F(FiltersTest, OverGrpcKeyAndValueAreApart) {
  v1::SlowestRequest request;
  auto* where = request.add_where();
  where->set_key("k");
  where->set_value("eq=v");
  auto query = query_of(request, kSomeNow);
  ASSERT_TRUE(query.ok());
  EXPECT_TRUE(query->filter.where[0].alternatives.empty());
  where->set_value("3.0");
  EXPECT_EQ(query_of(request, kSomeNow)->filter.where[0].alternatives.size(), 1u);
  where->set_compare(v1::COMPARE_AT_LEAST);
  EXPECT_EQ(query_of(request, kSomeNow)->filter.where[0].compare, store::Compare::kAtLeast);
  where->set_value("three");
  EXPECT_FALSE(query_of(request, kSomeNow).ok());
  where->set_compare(static_cast<v1::Compare>(99));
  EXPECT_FALSE(query_of(request, kSomeNow).ok());
  where->set_compare(v1::COMPARE_EQUAL);
  where->set_key("");
  EXPECT_FALSE(query_of(request, kSomeNow).ok());
}

TEST_F(FiltersTest, EachTraceOnceOverGrpc) {
  v1::SlowestRequest request;
  request.set_once_per_trace(true);
  EXPECT_FALSE(query_of(request, kSomeNow).ok()) << "by trace";
  request.set_by(v1::BY_SPAN);
  EXPECT_EQ(query_of(request, kSomeNow)->by, store::By::kSpanOfTrace);
}

TEST_F(FiltersTest, EachTraceOnceByItsSlowestSpan) {
  const std::string range = "from=2026-11-21T00:30&to=2026-11-21T00:31&by=span";
  EXPECT_EQ(rows(range), 2 * testing::kTraces);
  EXPECT_EQ(rows(range + "&once=trace"), testing::kTraces);
  EXPECT_EQ(rows(range + "&once=trace&service=catalog&errors"), testing::kTraces / 3);
  for (const char* bad : {"once=trace", "by=trace&once=trace", "by=span&once=span"}) {
    EXPECT_FALSE(ask(std::string("/api/v1/slowest?") + bad).ok()) << bad;
  }
  auto first = ask("/api/v1/slowest?limit=3&once=trace&" + range);
  ASSERT_TRUE(first.ok());
  const auto cursor = boost::json::value_to<std::string>(boost::json::parse(*first).at("next_cursor"));
  EXPECT_EQ(rows(range + "&once=trace&cursor=" + cursor), testing::kTraces - 3);
  EXPECT_FALSE(ask("/api/v1/slowest?" + range + "&cursor=" + cursor).ok()) << "it is of another question";
}

TEST_F(FiltersTest, ACursorGoesOnWithItsConditionAlone) {
  for (uint64_t i = 0; i < 5; ++i) add(100 + i, "k", ValueView::of_int(2));
  std::string filter = "from=0&where=k=2.0";
  ASSERT_EQ(rows(filter), 5u);
  auto first = ask("/api/v1/slowest?limit=3&" + filter);
  ASSERT_TRUE(first.ok());
  auto cursor = boost::json::value_to<std::string>(boost::json::parse(*first).at("next_cursor"));
  EXPECT_EQ(rows(filter + "&cursor=" + cursor), 2u);
  EXPECT_FALSE(ask("/api/v1/slowest?from=0&where=k!=2.0&cursor=" + cursor).ok());
}

TEST_F(FiltersTest, TimesAsPeopleWriteThem) {
  for (const char* from :
       {"2026-11-21", "2026-11-21T00:30", "2026-11-21T00:30:00", "1795221000.0", "2026-11-21T00:30:00%2B00:00",
        "2026-11-21T00:30:00+00:00", "2026-11-21T01:30+01:00", "2026-11-20T19:30:00-05:00"}) {
    EXPECT_EQ(rows(std::string("to=2026-11-21T00:31&from=") + from), testing::kTraces) << from;
  }
  EXPECT_EQ(rows("from=1795221000.5&to=2026-11-21T00:31"), testing::kTraces - 1);
  EXPECT_EQ(rows("to=2026-11-21"), 0u);
}

TEST_F(FiltersTest, ASwitchByItsBareName) {
  std::string range = "&from=2026-11-21T00:30&to=2026-11-21T00:31";
  size_t failed = testing::kTraces / 3;
  for (const char* yes : {"errors", "errors=", "errors=true", "errors=1", "errors&errors=true"}) {
    EXPECT_EQ(rows(yes + range), failed) << yes;
  }
  for (const char* no : {"", "errors=false", "errors=0"}) EXPECT_EQ(rows(no + range), testing::kTraces) << no;
  for (const char* bad : {"errors=yes", "errors=True", "errors=2", "errors=true&errors=true"}) {
    auto refused = ask(std::string("/api/v1/slowest?") + bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  }
  auto latency = ask("/api/v1/latency?heatmap" + range);
  ASSERT_TRUE(latency.ok());
  EXPECT_NE(latency->find("\"cells\""), std::string::npos);
}

}  // namespace
}  // namespace fathom::query
