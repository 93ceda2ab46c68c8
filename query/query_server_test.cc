#include "query/query_server.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "base/metrics.h"
#include "net/gzip.h"
#include "net/http_client.h"
#include "net/testing/raw_client.h"
#include "query/queries.h"
#include "query/testing/sample_store.h"

namespace fathom::query {
namespace {

using testing::kMilli;
using testing::kSampleStart;
using testing::kTraces;
using testing::sample_span_id;
using testing::sample_trace_id;
using testing::SampleStore;

const std::string kMinuteRange = "from=2026-11-21T00:30:00Z&to=2026-11-21T00:31:00Z";

uint64_t count_of(const std::string& query, const std::string& result) {
  return counter("fathom_query_requests_total", "", "query=\"" + query + "\",result=\"" + result + "\"").value();
}

class QueryServerTest : public ::testing::Test {
 protected:
  void start(QueryOptions options = {}) {
    server_ = std::make_unique<QueryServer>(options, store_);
    auto bound = server_->start();
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    address_ = *bound;
    client_ = std::make_unique<net::HttpClient>(address_);
  }

  net::HttpReply get(const std::string& target) {
    auto reply = client_->get(target);
    EXPECT_TRUE(reply.ok()) << target << ": " << (reply.ok() ? "" : reply.error().message);
    return reply.ok() ? *std::move(reply) : net::HttpReply{};
  }
  boost::json::object ask(const std::string& target) {
    net::HttpReply reply = get(target);
    EXPECT_EQ(reply.status, 200) << target << ": " << reply.body;
    return boost::json::parse(reply.body).as_object();
  }
  std::string refusal(const std::string& target, int status) {
    net::HttpReply reply = get(target);
    EXPECT_EQ(reply.status, status) << target << ": " << reply.body;
    return std::string(boost::json::parse(reply.body).at("error").at("message").as_string());
  }
  std::string metrics() { return get("/metrics").body; }
  // A trace whose document has more than 200,000 bytes.
  std::string add_large_trace() {
    std::string text(100'000, 'x');
    store::AttributeView attributes[] = {
        {"big", store::ValueView::of_string(std::string_view(text).substr(0, 16'000))},
        {"big2", store::ValueView::of_string(std::string_view(text).substr(1, 16'000))}};
    store::SpanView span;
    span.trace_id = sample_trace_id(250);
    span.name = "big";
    span.attributes = attributes;
    for (uint64_t n = 0; n < 8; ++n) {
      span.span_id = sample_span_id(n + 1);
      store_.add(span, {});
    }
    return "/api/v1/traces/" + span.trace_id.hex();
  }

  SampleStore store_;
  std::unique_ptr<QueryServer> server_;
  std::string address_;
  std::unique_ptr<net::HttpClient> client_;
};

TEST_F(QueryServerTest, TheSlowestTraceHasEveryFieldOfTheIssue) {
  start();
  auto answer = ask("/api/v1/slowest?limit=1&" + kMinuteRange);
  auto row = answer["rows"].as_array().at(0).as_object();
  uint64_t n = kTraces - 1;
  EXPECT_EQ(
      boost::json::serialize(row),
      R"({"trace_id":")" + sample_trace_id(n).hex() + R"(","span_id":")" + sample_span_id(2 * n).hex() +
          R"(","service":"gateway","operation":"GET /cart","start_time_unix_nano":")" +
          std::to_string(kSampleStart + n * 1'000'000'000) +
          R"(","duration_nano":300000000,"root_duration_nano":300000000,"complete":true,"error":false,"spans":2,"captures":0,)"
          R"("snapshots":0,"stepped":false})");
}

TEST_F(QueryServerTest, NodesAreThoseOfTheSource) {
  NodeRow bare{.node_id = "00ff", .host_name = "a\"b"};
  NodeRow full{.node_id = "aa", .host_name = "db-1", .agent_version = "0.1.0", .connected = true};
  full.first_seen_unix_nano = 1'795'221'000'000'000'001;
  full.last_seen_unix_nano = 1'795'221'000'000'000'002;
  full.agent_since_unix_nano = 1'795'221'000'000'000'003;
  full.clock = ClockOffset{-7'200'000'000'000, 12'000};
  full.clock_measured_unix_nano = 3;
  full.programs = 4;
  full.captures_off = full.reports_skipped_captures = true;
  full.slowest_period_nano = 60'000'000'000;
  full.acknowledged_spans = 5;
  full.spool_bytes = 6;
  full.spool_limit_bytes = 7;
  full.resident_bytes = 8;
  full.losses = {{"pool_full", 9}};
  start({.nodes = [&] { return std::vector<NodeRow>{bare, full}; }});
  EXPECT_EQ(
      get("/api/v1/nodes").body,
      R"({"nodes":[{"node_id":"00ff","host_name":"a\"b","agent_version":"","connected":false,"first_seen_unix_nano":"0",)"
      R"("last_seen_unix_nano":"0","agent_since_unix_nano":"0","programs":0,"captures_off":false,)"
      R"("reports_skipped_captures":false,)"
      R"("slowest_period_nano":0,"acknowledged_spans":0,"spool_bytes":0,"spool_limit_bytes":0,)"
      R"("resident_bytes":0,"losses":[]},{"node_id":"aa","host_name":"db-1","agent_version":"0.1.0","connected":true,)"
      R"("first_seen_unix_nano":"1795221000000000001","last_seen_unix_nano":"1795221000000000002",)"
      R"("agent_since_unix_nano":"1795221000000000003",)"
      R"("clock":{"offset_nano":-7200000000000,"error_nano":12000,"measured_unix_nano":"3"},"programs":4,)"
      R"("captures_off":true,"reports_skipped_captures":true,"slowest_period_nano":60000000000,)"
      R"("acknowledged_spans":5,"spool_bytes":6,"spool_limit_bytes":7,"resident_bytes":8,)"
      R"("losses":[{"reason":"pool_full","count":9}]}]})");
}

TEST_F(QueryServerTest, WithoutASourceThereAreNoNodes) {
  start();
  EXPECT_EQ(get("/api/v1/nodes").body, R"({"nodes":[]})");
}

TEST_F(QueryServerTest, FiltersAreUnderstood) {
  start();
  auto rows = [this](const std::string& filter) {
    return ask("/api/v1/slowest?limit=1000&" + kMinuteRange + "&" + filter)["rows"].as_array().size();
  };
  EXPECT_EQ(rows(""), kTraces);
  EXPECT_EQ(rows("by=span"), 2 * kTraces);
  EXPECT_EQ(rows("errors=true"), kTraces / 3);
  EXPECT_EQ(rows("errors=true&service=gateway"), 0u);
  EXPECT_EQ(rows("service=catalog&operation=lookup&by=span"), kTraces);
  EXPECT_EQ(rows("where=tier%3Dplain+%26+simple"), kTraces / 2);
  EXPECT_EQ(rows("where=tier=gold&where=service.name=gateway"), kTraces / 2);
  EXPECT_EQ(rows("where=tier=gold&where=tier=silver"), 0u);
  EXPECT_EQ(rows("min_duration=100ms&max_duration=200ms"), 11u);
  EXPECT_EQ(ask("/api/v1/slowest?from=1795221010000000000&to=1795221020000000000")["rows"].as_array().size(), 10u);
  EXPECT_EQ(ask("/api/v1/slowest")["rows"].as_array().size(), 0u);  // the last hour
}

TEST_F(QueryServerTest, PagesJoinToTheWholeWhileDataComesIn) {
  start();
  std::string target = "/api/v1/slowest?limit=7&" + kMinuteRange;
  std::vector<std::string> seen;
  std::string cursor;
  do {
    auto page = ask(target + "&cursor=" + cursor);
    for (const auto& row : page["rows"].as_array()) seen.emplace_back(row.at("trace_id").as_string());
    cursor = std::string(page["next_cursor"].as_string());
    store::SpanView late;
    late.trace_id = sample_trace_id(200 + seen.size());
    late.span_id = sample_span_id(1);
    late.start_unix_nano = kSampleStart;
    late.end_unix_nano = kSampleStart + 5 * kMilli;
    late.name = "late";
    store_.add(late, {});
  } while (!cursor.empty());
  ASSERT_EQ(seen.size(), kTraces);
  for (uint64_t n = 0; n < kTraces; ++n) EXPECT_EQ(seen[n], sample_trace_id(kTraces - 1 - n).hex());
}

TEST_F(QueryServerTest, ACursorBelongsToItsQuery) {
  start();
  std::string target = "/api/v1/slowest?limit=2&" + kMinuteRange;
  auto text = ask(target)["next_cursor"].as_string();
  std::string cursor = "&cursor=" + std::string(text.data(), text.size());
  EXPECT_EQ(ask(target + cursor)["rows"].as_array().size(), 2u);
  EXPECT_EQ(ask("/api/v1/slowest?limit=5&" + kMinuteRange + cursor)["rows"].as_array().size(), 5u);
  for (const char* other : {"&service=gateway", "&by=span", "&errors=true", "&where=tier=gold", "&min_duration=1ns"}) {
    EXPECT_NE(refusal(target + cursor + other, 400).find("does not belong"), std::string::npos) << other;
  }
  EXPECT_NE(refusal("/api/v1/slowest?since=1d" + cursor, 400).find("does not belong"), std::string::npos);
  EXPECT_NE(refusal(target + "&cursor=nonsense", 400).find("does not belong"), std::string::npos);
}

TEST_F(QueryServerTest, MistakesAreNamedWithTheirCure) {
  start();
  EXPECT_NE(refusal("/api/v1/slowest?servce=x", 400).find("unknown parameter 'servce'"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/services?limit=3", 400).find("takes from, since, timeout, to"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/slowest?limit=0", 400).find("from 1 to 1000"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/slowest?limit=x", 400).find("'limit'"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/slowest?where=tier==gold", 400).find("KEY=VALUE"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/slowest?by=day", 400).find("trace or span"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/slowest?min_duration=5", 400).find("'min_duration'"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/slowest?since=1h&from=0", 400).find("one or the other"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/slowest?from=2026-11-22T00:00:00Z&to=2026-11-21T00:00:00Z", 400).find("after"),
            std::string::npos);
  EXPECT_NE(refusal("/api/v1/slowest?service=a&service=b", 400).find("once"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/slowest?errors=maybe", 400).find("true or false"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/slowest?timeout=2h", 400).find("at most"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/latency?step=90s", 400).find("minutes"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/latency?since=30d&step=1m", 400).find("longer 'step'"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/traces/xyz", 400).find("32 hexadecimal"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/traces/" + std::string(32, 'e'), 404).find("no span"), std::string::npos);
  EXPECT_NE(refusal("/api/v2/anything", 404).find("nothing at"), std::string::npos);
}

TEST_F(QueryServerTest, OnlyGetAndHeadAreTaken) {
  start();
  auto reply = client_->post("/api/v1/slowest", "application/json", "{}");
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->status, 405);
}

TEST_F(QueryServerTest, ListsServicesOperationsAndAttributes) {
  start();
  auto services_answer = ask("/api/v1/services?" + kMinuteRange);
  EXPECT_EQ(services_answer["counted_nano"].as_int64(), 60 * static_cast<int64_t>(kNanosPerSecond));
  EXPECT_EQ(services_answer["counted_from_unix_nano"].as_string(), std::to_string(kSampleStart));
  auto services = services_answer["services"].as_array();
  ASSERT_EQ(services.size(), 2u);
  EXPECT_EQ(services[0].at("service").as_string(), "catalog");
  EXPECT_EQ(services[0].at("service_namespace").as_string(), "shop");
  EXPECT_EQ(services[0].at("spans").as_int64(), 30);
  EXPECT_EQ(services[0].at("errors").as_int64(), 10);
  EXPECT_EQ(services[1].at("max_nano").as_int64(), static_cast<int64_t>(300 * kMilli));
  auto operations_answer = ask("/api/v1/operations?service=gateway&" + kMinuteRange);
  EXPECT_EQ(operations_answer["counted_nano"].as_int64(), 60 * static_cast<int64_t>(kNanosPerSecond));
  auto operations = operations_answer["operations"].as_array();
  ASSERT_EQ(operations.size(), 1u);
  EXPECT_EQ(operations[0].at("operation").as_string(), "GET /cart");
  EXPECT_EQ(operations[0].at("kind").as_string(), "server");
  EXPECT_NEAR(static_cast<double>(operations[0].at("p50_nano").as_int64()), 150e6, 150e6 * 0.05);
  EXPECT_EQ(boost::json::serialize(ask("/api/v1/attributes?" + kMinuteRange)["keys"]),
            R"(["service.name","service.namespace","tier"])");
  auto values = ask("/api/v1/attributes/tier/values?limit=1&" + kMinuteRange);
  EXPECT_EQ(boost::json::serialize(values),
            R"({"key":"tier","values":[{"value":"gold","spans":15}],"estimated":false})");
  auto of_none = ask("/api/v1/attributes/tier/values?service=nobody&" + kMinuteRange);
  EXPECT_EQ(boost::json::serialize(of_none), R"({"key":"tier","values":[],"estimated":false})");
  auto of_one = ask("/api/v1/attributes/service.name/values?service=gateway&" + kMinuteRange);
  EXPECT_EQ(boost::json::serialize(of_one),
            R"({"key":"service.name","values":[{"value":"gateway","spans":30}],"estimated":false})");
}

TEST_F(QueryServerTest, LatencyHasPercentilesAndAHeatmap) {
  start();
  auto answer = ask("/api/v1/latency?service=gateway&heatmap=true&step=1m&" + kMinuteRange);
  EXPECT_EQ(answer["step_nano"].as_int64(), 60'000'000'000);
  ASSERT_EQ(answer["points"].as_array().size(), 1u);
  auto point = answer["points"].as_array()[0].as_object();
  EXPECT_EQ(point["count"].as_int64(), 30);
  EXPECT_EQ(point["max_nano"].as_int64(), static_cast<int64_t>(300 * kMilli));
  int64_t cells = 0;
  for (const auto& cell : point["cells"].as_array()) {
    cells += cell.at("count").as_int64();
    EXPECT_LT(cell.at("low_nano").as_int64(), cell.at("high_nano").as_int64());
  }
  EXPECT_EQ(cells, 30);
  EXPECT_LE(point["cells"].as_array().size(), 41u);
  EXPECT_FALSE(ask("/api/v1/latency?" + kMinuteRange)["points"].as_array()[0].as_object().contains("cells"));
}

TEST_F(QueryServerTest, ATraceGoesByTheBeginningOfItsId) {
  start();
  const std::string whole = add_large_trace();
  const std::string beginning = whole.substr(0, whole.size() - 1);
  EXPECT_EQ(get(beginning).body, get(whole).body);
  EXPECT_EQ(get(beginning + "/timeline").body, get(whole + "/timeline").body);
  EXPECT_EQ(get(beginning + "/perfetto").status, 200);
  const std::string several = refusal("/api/v1/traces/ab000000", 400);
  EXPECT_TRUE(several.starts_with("'ab000000' begins the ids of several traces; write more of it: ab0000")) << several;
  EXPECT_EQ(std::count(several.begin(), several.end(), ','), 10)
      << "the first ten, and that there are more: " << several;
  EXPECT_EQ(refusal("/api/v1/traces/ab000000/timeline", 400), several);
  EXPECT_EQ(refusal("/api/v1/traces/12345678", 404), "no span of a trace whose id begins with 12345678 is stored");
  for (const char* none : {"ab00000", "ab00000g", "000000000000000000000000000000000"}) {
    EXPECT_NE(refusal("/api/v1/traces/" + std::string(none), 400).find("the first 8 of them, or more"),
              std::string::npos);
  }
}

TEST_F(QueryServerTest, ATraceHasEveryFieldOfTheIssue) {
  start();
  auto trace = ask("/api/v1/traces/" + sample_trace_id(3).hex());
  EXPECT_EQ(trace["trace_id"].as_string(), sample_trace_id(3).hex());
  EXPECT_EQ(trace["duration_nano"].as_int64(), static_cast<int64_t>(40 * kMilli));
  EXPECT_TRUE(trace["complete"].as_bool());
  ASSERT_EQ(trace["spans"].as_array().size(), 2u);
  EXPECT_EQ(boost::json::serialize(trace["spans"].as_array()[1]),
            R"({"span_id":")" + sample_span_id(7).hex() + R"(","parent_span_id":")" + sample_span_id(6).hex() +
                R"(","service":"catalog","operation":"lookup","kind":"internal","start_time_unix_nano":")" +
                std::to_string(kSampleStart + 3'000'000'000 + kMilli) +
                R"(","duration_nano":20000000,"status":"error","attributes":{},"events":[],"links":[],)" +
                R"("resource":1,"scope":0})");
  EXPECT_EQ(trace["spans"].as_array()[0].at("parent_span_id").as_string(), "");
  EXPECT_EQ(trace["resources"].as_array()[1].at("attributes").at("service.namespace").as_string(), "shop");
}

TEST_F(QueryServerTest, HealthReadinessStatusAndMetrics) {
  start({.version = "1.2.3"});
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/readyz").status, 503);
  server_->set_ready(true);
  EXPECT_EQ(get("/readyz").status, 200);
  store_.writable = false;
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/healthz").status, 200);
  auto status = ask("/api/v1/status");
  EXPECT_EQ(status["version"].as_string(), "1.2.3");
  EXPECT_FALSE(status["store"].at("writable").as_bool());
  EXPECT_NE(get("/").body.find("/api/v1/slowest"), std::string::npos);
  ask("/api/v1/slowest");
  EXPECT_NE(metrics().find("fathom_query_duration_seconds_bucket{query=\"slowest\",le=\"+Inf\"}"), std::string::npos);
}

TEST_F(QueryServerTest, AFreshServerListsEveryCounter) {
  start();
  std::string listed = "\n" + metrics();
  auto expect = [&](const std::string& series) {
    EXPECT_NE(listed.find("\n" + series + " "), std::string::npos) << series;
  };
  for (const char* reason : {"queue_full", "stopping", "invalid", "not_found", "exhausted"}) {
    expect("fathom_query_refused_total{reason=\"" + std::string(reason) + "\"}");
  }
  for (std::string query :
       {"slowest", "trace", "services", "operations", "attribute_keys", "attribute_values", "latency"}) {
    for (const char* result : {"ok", "invalid", "not_found", "unavailable", "exhausted", "deadline", "cancelled",
                               "corrupt", "unsupported", "internal"}) {
      expect("fathom_query_requests_total{query=\"" + query + "\",result=\"" + result + "\"}");
    }
    expect("fathom_query_duration_seconds_bucket{query=\"" + query + "\",le=\"+Inf\"}");
    expect("fathom_query_duration_seconds_sum{query=\"" + query + "\"}");
    expect("fathom_query_duration_seconds_count{query=\"" + query + "\"}");
  }
  for (const char* gauge : {"fathom_store_disk_bytes", "fathom_store_oldest_received_timestamp_seconds",
                            "fathom_store_segments", "fathom_store_spans", "fathom_store_unsealed_spans"}) {
    EXPECT_NE(listed.find("\n# TYPE " + std::string(gauge) + " gauge\n"), std::string::npos) << gauge;
    expect(gauge);
  }
  EXPECT_NE(listed.find("\n# TYPE fathom_query_duration_seconds histogram\n"), std::string::npos);
  expect("process_resident_memory_bytes");
  expect("fathom_query_waiting");
  expect("fathom_query_running");
}

TEST_F(QueryServerTest, MetricsSayOfTheStoreWhatStatusSays) {
  start();
  store::StoreStats stats = store_.stats();
  std::string listed = metrics();
  auto expect = [&](const std::string& gauge, uint64_t value) {
    EXPECT_NE(listed.find("\n" + gauge + " " + std::to_string(value) + "\n"), std::string::npos) << gauge;
  };
  expect("fathom_store_disk_bytes", stats.disk_bytes);
  expect("fathom_store_segments", stats.segments);
  expect("fathom_store_spans", stats.spans_stored);
  expect("fathom_store_unsealed_spans", stats.spans_unsealed);
  expect("fathom_store_oldest_received_timestamp_seconds", stats.oldest_received_unix_nano / kNanosPerSecond);
  EXPECT_GT(stats.spans_stored, 0u);
  EXPECT_GT(stats.oldest_received_unix_nano, kNanosPerSecond);
}

TEST_F(QueryServerTest, TheDeadlineEndsAQuery) {
  start();
  store_.hold();
  uint64_t before = count_of("slowest", "deadline");
  refusal("/api/v1/slowest?timeout=20ms", 504);
  EXPECT_EQ(count_of("slowest", "deadline"), before + 1);
}

TEST_F(QueryServerTest, TheByteBudgetEndsAQuery) {
  start({.byte_budget = 100});
  uint64_t before = count_of("trace", "exhausted");
  refusal("/api/v1/traces/" + sample_trace_id(3).hex(), 413);
  EXPECT_EQ(count_of("trace", "exhausted"), before + 1);
}

TEST_F(QueryServerTest, AnAskerThatGoesAwayCancelsItsQuery) {
  start({.threads = 1});
  store_.hold();
  uint64_t before = count_of("slowest", "cancelled");
  net::testing::RawClient asker(address_);
  asker.send("GET /api/v1/slowest HTTP/1.1\r\n\r\n");
  store_.wait_until_held(1);
  asker.reset();
  while (count_of("slowest", "cancelled") == before) std::this_thread::yield();
  store_.release();
  EXPECT_EQ(get("/api/v1/slowest").status, 200);
}

TEST_F(QueryServerTest, RefusalsCountByReason) {
  start();
  for (auto [target, status, reason] :
       {std::tuple{"/api/v1/slowest?limit=x", 400, "invalid"}, std::tuple{"/api/v1/nothing", 404, "not_found"}}) {
    Counter& refused = counter("fathom_query_refused_total", "", "reason=\"" + std::string(reason) + "\"");
    uint64_t before = refused.value();
    refusal(target, status);
    EXPECT_EQ(refused.value(), before + 1) << reason;
  }
}

TEST_F(QueryServerTest, AFullQueueIsRefusedAndHealthIsNot) {
  start({.threads = 1, .queue = 1});
  store_.hold();
  Counter& refused = counter("fathom_query_refused_total", "", "reason=\"queue_full\"");
  uint64_t before = refused.value();
  net::testing::RawClient running(address_);
  running.send("GET /api/v1/slowest HTTP/1.1\r\n\r\n");
  store_.wait_until_held(1);
  net::testing::RawClient waiting(address_);
  waiting.send("GET /api/v1/slowest HTTP/1.1\r\n\r\n");
  while (gauge("fathom_query_waiting", "").value() == 0) std::this_thread::yield();
  net::HttpReply reply = get("/api/v1/slowest");
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(
      std::find(reply.headers.begin(), reply.headers.end(), std::pair(std::string("retry-after"), std::string("1"))),
      reply.headers.end());
  EXPECT_EQ(refused.value(), before + 1);
  EXPECT_EQ(get("/healthz").status, 200);
  store_.release();
  EXPECT_EQ(net::testing::status_of(running.read_answer()), 200);
  EXPECT_EQ(net::testing::status_of(waiting.read_answer()), 200);
}

TEST_F(QueryServerTest, StopCancelsWhatDoesNotEnd) {
  start({.threads = 1});
  store_.hold();
  net::testing::RawClient running(address_);
  running.send("GET /api/v1/slowest HTTP/1.1\r\n\r\n");
  store_.wait_until_held(1);
  server_->stop(10 * kMilli);
  EXPECT_EQ(running.read_all(), "");
}

TEST_F(QueryServerTest, LargeAnswersArePackedForThoseWhoTakeIt) {
  start();
  std::string path = add_large_trace();
  std::string plain = get(path).body;
  net::testing::RawClient packing(address_);
  packing.send("GET " + path + " HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n");
  std::string answer = packing.read_answer();
  EXPECT_NE(answer.find("Content-Encoding: gzip"), std::string::npos);
  auto unpacked = net::gunzip(net::testing::body_of(answer), 10'000'000, nullptr);
  ASSERT_TRUE(unpacked.ok());
  EXPECT_EQ(*unpacked, plain);
}

TEST_F(QueryServerTest, LargeAnswersNeedRoomInTheMemoryForAnswers) {
  start({.answer_bytes = 100'000});
  std::string path = add_large_trace();
  EXPECT_NE(refusal(path, 413).find("ask for less"), std::string::npos);
  net::testing::RawClient packing(address_);
  packing.send("GET " + path + " HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n");
  EXPECT_EQ(net::testing::status_of(packing.read_answer()), 200) << "packed it is small";
  EXPECT_NE(metrics().find("fathom_query_answer_bytes 0\n"), std::string::npos);
  EXPECT_NE(metrics().find("fathom_http_refused_total{listener=\"query\",reason=\"answer_memory\"}"),
            std::string::npos);
}

TEST_F(QueryServerTest, APortInUseIsAClearError) {
  start();
  QueryServer second({.http_address = address_}, store_);
  auto bound = second.start();
  ASSERT_FALSE(bound.ok());
  EXPECT_NE(bound.error().message.find(address_), std::string::npos);
}

}  // namespace
}  // namespace fathom::query
