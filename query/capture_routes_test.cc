// Captures and timelines over HTTP, from a real store.
#include "query/capture_routes.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "capture/encode.h"
#include "net/http_client.h"
#include "perfetto/trace.pb.h"
#include "query/captures.h"
#include "query/proto_convert.h"
#include "query/query_server.h"
#include "query/testing/sample_timeline.h"
#include "query/timeline/timeline_query.h"

namespace fathom::query {
namespace {

using testing::kMilli;
using testing::kSampleStart;
using testing::sample_capture;
using testing::sample_capture_id;
using testing::sample_capture_info;
using testing::sample_trace_id;
using testing::SampleTimeline;

const std::string kCaptureRange = "from=2026-11-21T00:29:00Z&to=2026-11-21T00:31:00Z";

class CaptureRoutesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto bound = server_.start();
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    client_ = std::make_unique<net::HttpClient>(*bound);
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
  std::vector<std::string> ids(const std::string& parameters) {
    std::vector<std::string> found;
    auto answer = ask("/api/v1/captures?" + parameters);
    for (const auto& capture : answer["captures"].as_array()) {
      found.emplace_back(capture.at("id").as_string());
    }
    return found;
  }
  // Captures 10 to 10 + `count` - 1, of trace 6, a second apart.
  void add_more(uint64_t count) {
    for (uint64_t n = 0; n < count; ++n) {
      store::CaptureInfo info = sample_capture_info(10 + n);
      info.trace_id = sample_trace_id(6);
      info.service = "pay";
      info.trigger = CaptureTrigger::kCrash;
      info.pid = 5;
      info.start_unix_nano = kSampleStart + n * kNanosPerSecond;
      info.end_unix_nano = info.start_unix_nano + kMilli;
      sample_.add_capture(info, "content " + std::to_string(n));
    }
  }
  static std::string id(uint64_t n) { return sample_capture_id(n).hex(); }
  static std::string trace(uint64_t n = 1) { return "/api/v1/traces/" + sample_trace_id(n).hex(); }

  SampleTimeline sample_;
  QueryServer server_{{}, sample_.stores()};
  std::unique_ptr<net::HttpClient> client_;
};

TEST_F(CaptureRoutesTest, ATraceSaysWhatWasCaptured) {
  auto captures = ask(trace())["captures"].as_array();
  ASSERT_EQ(captures.size(), 2u);
  const auto& capture = captures[0].as_object();
  EXPECT_EQ(capture.at("id").as_string(), id(1));
  EXPECT_EQ(capture.at("trigger").as_string(), "slow");
  EXPECT_EQ(capture.at("host_name").as_string(), "shop-1");
  EXPECT_EQ(capture.at("pid").as_int64(), 4711);
  EXPECT_EQ(boost::json::serialize(capture.at("losses")), R"([{"name":"overwritten","count":12}])");
}

TEST_F(CaptureRoutesTest, TheListOfTheSlowestSaysWhichHaveCaptures) {
  auto rows = ask("/api/v1/slowest?from=" + std::to_string(kSampleStart - kNanosPerSecond) +
                  "&to=" + std::to_string(kSampleStart + kNanosPerSecond))["rows"]
                  .as_array();
  ASSERT_FALSE(rows.empty());
  for (const auto& row : rows) {
    const bool captured = row.at("trace_id").as_string() == sample_trace_id(1).hex();
    EXPECT_EQ(row.at("captures").as_int64(), captured ? 2 : 0);
    EXPECT_EQ(row.at("snapshots").as_int64(), 0);
  }
}

TEST_F(CaptureRoutesTest, ATraceOfWhichNothingButACaptureIsStoredIsThere) {
  add_more(1);
  auto document = ask(trace(6));
  EXPECT_FALSE(document["complete"].as_bool());
  EXPECT_TRUE(document["spans"].as_array().empty());
  EXPECT_EQ(document["captures"].as_array().size(), 1u);
  refusal(trace(8), 404);
}

TEST_F(CaptureRoutesTest, TheListIsNewestFirstAndFiltered) {
  add_more(3);
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids(kCaptureRange), (Ids{id(12), id(11), id(10), id(2), id(1)}));
  EXPECT_EQ(ids("service=pay&" + kCaptureRange), (Ids{id(12), id(11), id(10)}));
  EXPECT_EQ(ids("trigger=slow&" + kCaptureRange), (Ids{id(2), id(1)}));
  EXPECT_EQ(ids("trace_id=" + sample_trace_id(1).hex()), (Ids{id(2), id(1)})) << "of any time";
  EXPECT_EQ(ids("pid=4711&node_id=0d000000000000000000000000000000&" + kCaptureRange), (Ids{id(2), id(1)}));
  EXPECT_EQ(ids(""), Ids()) << "of the last hour";
}

TEST_F(CaptureRoutesTest, PagesNeitherRepeatNorSkip) {
  add_more(5);
  std::string cursor;
  std::vector<std::string> seen;
  for (size_t page = 0; page < 10; ++page) {
    auto answer = ask("/api/v1/captures?limit=2&" + kCaptureRange + (cursor.empty() ? "" : "&cursor=" + cursor));
    for (const auto& capture : answer["captures"].as_array()) seen.emplace_back(capture.at("id").as_string());
    cursor = std::string(answer["next_cursor"].as_string());
    if (cursor.empty()) break;
  }
  EXPECT_EQ(seen, ids(kCaptureRange));
  EXPECT_EQ(seen.size(), 7u);
  auto first = ask("/api/v1/captures?limit=2&" + kCaptureRange);
  std::string foreign = "/api/v1/captures?service=pay&" + kCaptureRange + "&cursor=";
  EXPECT_NE(refusal(foreign + std::string(first["next_cursor"].as_string()), 400).find("cursor"), std::string::npos);
  EXPECT_NE(refusal(foreign + "AAAA", 400).find("cursor"), std::string::npos);
}

TEST_F(CaptureRoutesTest, OneCaptureHasASummaryAndItsBytes) {
  auto document = ask("/api/v1/captures/" + id(1));
  EXPECT_EQ(document["reason"].as_string(), "POST /checkout took 812 ms, its threshold is 250 ms");
  EXPECT_EQ(boost::json::serialize(document["threads"].as_array()[0]),
            R"({"tid":4712,"name":"worker-2","events":3,"kernel_events":9,"open_spans":0})");
  EXPECT_NE(ask("/api/v1/captures/" + id(2))["problem"].as_string(), "");
  net::HttpReply content = get("/api/v1/captures/" + id(1) + "/content");
  EXPECT_EQ(content.status, 200);
  EXPECT_EQ(content.body, capture::encode(sample_capture()));
  EXPECT_EQ(get("/api/v1/captures/" + id(2) + "/content").body, "not a capture");
}

TEST_F(CaptureRoutesTest, TimelinesAreOfTracesAndOfCaptures) {
  EXPECT_EQ(ask(trace() + "/timeline")["processes"].as_array().size(), 2u);
  EXPECT_EQ(ask("/api/v1/captures/" + id(1) + "/timeline")["captures"].as_array().size(), 1u);
  EXPECT_EQ(ask(trace() + "/timeline?capture=" + id(2))["captures"].as_array().size(), 1u);
  EXPECT_TRUE(ask(trace() + "/timeline?limit=1")["truncated"].as_bool());
  auto all = ask(trace() + "/timeline?all=1&span=cd00000000000002")["processes"].as_array();
  EXPECT_EQ(all[0].at("threads").as_array().size(), 2u);
}

TEST_F(CaptureRoutesTest, PerfettosTraceIsBytes) {
  for (const std::string& of : {trace(), "/api/v1/captures/" + id(1)}) {
    net::HttpReply reply = get(of + "/perfetto");
    EXPECT_EQ(reply.status, 200);
    perfetto::protos::Trace parsed;
    EXPECT_TRUE(parsed.ParseFromString(reply.body));
    EXPECT_GT(parsed.packet_size(), 10);
  }
}

TEST_F(CaptureRoutesTest, MistakesAreNamed) {
  EXPECT_NE(refusal("/api/v1/captures?trace_id=12", 400).find("trace_id"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/captures?trigger=sneeze", 400).find("overdue"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/captures?pid=7", 400).find("node_id"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/captures?colour=red", 400).find("colour"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/captures/xyz", 400).find("capture id"), std::string::npos);
  EXPECT_NE(refusal("/api/v1/traces/xyz/timeline", 400).find("trace id"), std::string::npos);
  EXPECT_NE(refusal(trace() + "/timeline?span=1", 400).find("span"), std::string::npos);
  EXPECT_NE(refusal(trace() + "/timeline?limit=0", 400).find("limit"), std::string::npos);
  refusal("/api/v1/captures/" + id(77), 404);
  refusal("/api/v1/captures/" + id(77) + "/content", 404);
  refusal("/api/v1/captures/" + id(77) + "/timeline", 404);
  refusal("/api/v1/captures/" + id(1) + "/else", 404);
  refusal(trace(8) + "/timeline", 404);
  refusal(trace() + "/timeline?capture=" + id(77), 404);
}

TEST_F(CaptureRoutesTest, OverGrpcTheAnswersAreTheSame) {
  store::QueryBudget budget;
  v1::TimelineRequest timeline;
  EXPECT_FALSE(query_of(timeline).ok());
  timeline.set_trace_id(std::string(sample_trace_id(1).view()));
  timeline.set_capture_id(std::string(sample_capture_id(1).view()));
  auto query = query_of(timeline);
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(*run_timeline(sample_.stores(), *query, budget), get(trace() + "/timeline?capture=" + id(1)).body);
  timeline.set_span_id("short");
  EXPECT_FALSE(query_of(timeline).ok());
  v1::ListCapturesRequest list;
  list.set_trace_id(std::string(sample_trace_id(1).view()));
  auto listed = run_captures(sample_.stores(), *query_of(list, kSampleStart), budget);
  EXPECT_EQ(to_json(*listed), get("/api/v1/captures?trace_id=" + sample_trace_id(1).hex()).body);
  list.set_pid(7);
  EXPECT_FALSE(query_of(list, kSampleStart).ok());
  EXPECT_FALSE(capture_id_of(v1::GetCaptureRequest()).ok());
}

TEST(CaptureRoutes, WithoutAStoreOfCapturesThereAreNone) {
  testing::SampleStore spans;
  store::QueryBudget budget;
  Stores stores(spans);
  EXPECT_TRUE(captures_of(stores, sample_trace_id(1), budget)->empty());
  EXPECT_TRUE(run_captures(stores, {}, budget)->rows.empty());
  EXPECT_EQ(run_content(stores, sample_capture_id(1), budget).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(run_timeline(stores, {.subject = {.trace = sample_trace_id(1)}}, budget).ok());
}

}  // namespace
}  // namespace fathom::query
