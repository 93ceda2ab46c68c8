#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "net/http_client.h"
#include "query/control_routes.h"
#include "query/query_server.h"
#include "query/testing/sample_store.h"

namespace fathom::query {
namespace {

ingest::NodeId node_id(uint8_t number) {
  ingest::NodeId id;
  id.bytes.fill(0xff);
  id.bytes[0] = number;
  return id;
}

// Keeps what it is asked; answers at once, or when a test says so.
class ScriptedControl : public Control {
 public:
  void capture(CaptureAsk ask, Done<CaptureReplies> done) override {
    std::lock_guard lock(mutex_);
    asked_captures_.push_back(std::move(ask));
    if (hold) return held_.push_back(std::move(done)), void();
    done(captures);
  }
  void tracepoints(TracepointAsk ask, Done<TracepointReplies> done) override {
    std::lock_guard lock(mutex_);
    asked_tracepoints_.push_back(std::move(ask));
    done(replies);
  }
  void tracepoint_rules(Done<TracepointRules> done) override { done(rules); }
  std::vector<CaptureAsk> asked_captures() {
    std::lock_guard lock(mutex_);
    return asked_captures_;
  }
  std::vector<TracepointAsk> asked_tracepoints() {
    std::lock_guard lock(mutex_);
    return asked_tracepoints_;
  }
  bool release() {
    std::lock_guard lock(mutex_);
    for (auto& done : held_) done(captures);
    return !std::exchange(held_, {}).empty();
  }

  bool hold = false;
  Result<CaptureReplies> captures = CaptureReplies{};
  Result<TracepointReplies> replies = TracepointReplies{};
  Result<TracepointRules> rules = TracepointRules{};

 private:
  std::mutex mutex_;
  std::vector<CaptureAsk> asked_captures_;
  std::vector<TracepointAsk> asked_tracepoints_;
  std::vector<Done<CaptureReplies>> held_;
};

class ControlRoutesTest : public ::testing::Test {
 protected:
  void start(bool with_control = true) {
    QueryOptions options;
    if (with_control) options.control = control_;
    server_ = std::make_unique<QueryServer>(options, store_);
    auto bound = server_->start();
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    address_ = *bound;
  }
  using Headers = std::vector<std::pair<std::string, std::string>>;
  // A client each, because refusals before the body close the connection.
  net::HttpReply post(const std::string& target, const std::string& body, const std::string& type = "application/json",
                      const Headers& headers = {}) {
    auto reply = net::HttpClient(address_).post(target, type, body, headers);
    EXPECT_TRUE(reply.ok()) << (reply.ok() ? "" : reply.error().message);
    return reply.ok() ? *std::move(reply) : net::HttpReply{};
  }
  net::HttpReply get(const std::string& target) {
    auto reply = net::HttpClient(address_).get(target);
    EXPECT_TRUE(reply.ok());
    return reply.ok() ? *std::move(reply) : net::HttpReply{};
  }
  static uint64_t requests(const std::string& name, const std::string& result) {
    return counter("fathom_query_requests_total", "", "query=\"" + name + "\",result=\"" + result + "\"").value();
  }

  testing::SampleStore store_;
  std::shared_ptr<ScriptedControl> control_ = std::make_shared<ScriptedControl>();
  std::unique_ptr<QueryServer> server_;
  std::string address_;
};

constexpr const char* kByService = R"({"service":"shop"})";

TEST_F(ControlRoutesTest, ACaptureIsAskedForAndEveryNodesAnswerIsShown) {
  start();
  uint64_t before = requests("capture_request", "ok");
  control_->captures =
      CaptureReplies{7,
                     {{node_id(0), "db-1", ingest::CaptureAnswer{7, {node_id(0xa), node_id(0xb)}, ""}, ""},
                      {node_id(1), "db\"2", ingest::CaptureAnswer{7, {}, "no such service here"}, ""},
                      {node_id(2), "db-3", std::nullopt, "the node did not answer in time"}}};
  net::HttpReply reply = post("/api/v1/captures", kByService);
  EXPECT_EQ(reply.status, 200);
  const std::string a = node_id(0xa).hex(), b = node_id(0xb).hex();
  EXPECT_EQ(reply.body,
            R"({"request_id":7,"nodes":[{"node_id":")" + node_id(0).hex() + R"(","host_name":"db-1","captures":[")" +
                a + R"(",")" + b + R"("],"skipped":"","failure":""},{"node_id":")" + node_id(1).hex() +
                R"(","host_name":"db\"2","captures":[],"skipped":"no such service here","failure":""},{"node_id":")" +
                node_id(2).hex() +
                R"(","host_name":"db-3","captures":[],"skipped":"","failure":"the node did not answer in time"}]})");
  CaptureAsk expected{{.service = "shop", .duration_nano = 5'000'000'000}, ""};
  EXPECT_EQ(control_->asked_captures(), std::vector{expected});
  EXPECT_EQ(requests("capture_request", "ok"), before + 1);
}

TEST_F(ControlRoutesTest, WhoeverWaitsForNodesHoldsNobodyUp) {
  start();
  control_->hold = true;
  std::thread asker([this] { EXPECT_EQ(post("/api/v1/captures", kByService).status, 200); });
  while (control_->asked_captures().empty()) std::this_thread::yield();
  EXPECT_EQ(get("/api/v1/services").status, 200) << "with one thread for HTTP";
  EXPECT_TRUE(control_->release());
  asker.join();
}

TEST_F(ControlRoutesTest, TracepointsAreListedAndSwitched) {
  start();
  ingest::TracepointAnswer answer{3, {{7, "shop", {{"cache.miss", "a.cc", 3, true}}, true}}};
  control_->replies = TracepointReplies{3, {{node_id(0), "db-1", std::move(answer), ""}}};
  std::string expected =
      R"({"request_id":3,"nodes":[{"node_id":")" + node_id(0).hex() +
      R"(","host_name":"db-1","failure":"","truncated":false,"programs":[)"
      R"({"pid":7,"service":"shop","truncated":true,"tracepoints":[{"name":"cache.miss","file":"a.cc","line":3,)"
      R"("on":true}]}]}]})";
  EXPECT_EQ(get("/api/v1/tracepoints?pattern=cache.*").body, expected);
  EXPECT_EQ(post("/api/v1/tracepoints", R"({"action":"enable","patterns":["cache.*"]})").body, expected);
  auto asked = control_->asked_tracepoints();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].request.action, ingest::TracepointAction::kList);
  EXPECT_EQ(asked[1].request.action, ingest::TracepointAction::kEnable);
  EXPECT_EQ(asked[1].request.patterns, asked[0].request.patterns);
}

TEST_F(ControlRoutesTest, RulesAreListed) {
  start();
  uint64_t before = requests("tracepoint_rules", "ok");
  control_->rules = TracepointRules{{true, "cache.*", "shop", std::nullopt}, {false, "*", "", node_id(0)}};
  EXPECT_EQ(get("/api/v1/tracepoints/rules").body,
            R"({"rules":[{"action":"enable","pattern":"cache.*","service":"shop","node_id":""},)"
            R"({"action":"disable","pattern":"*","service":"","node_id":")" +
                node_id(0).hex() + "\"}]}");
  EXPECT_EQ(requests("tracepoint_rules", "ok"), before + 1);
  EXPECT_EQ(get("/api/v1/tracepoints/rules?service=shop").status, 400);
  EXPECT_EQ(post("/api/v1/tracepoints/rules", "{}").status, 405);
}

TEST_F(ControlRoutesTest, FaultsHaveTheirStatus) {
  start();
  EXPECT_EQ(post("/api/v1/captures", "{}").status, 400);
  EXPECT_EQ(post("/api/v1/tracepoints", "{}").status, 400);
  EXPECT_EQ(get("/api/v1/tracepoints?patern=x").status, 400);
  EXPECT_EQ(post("/api/v1/captures", std::string(20'000, ' ')).status, 413);
  EXPECT_TRUE(control_->asked_captures().empty());
  control_->captures = not_found("node x is not connected");
  net::HttpReply reply = post("/api/v1/captures", kByService);
  EXPECT_EQ(reply.status, 404);
  EXPECT_NE(reply.body.find("node x is not connected"), std::string::npos);
  control_->captures = unavailable("no node");
  EXPECT_EQ(post("/api/v1/captures", kByService).status, 503);
}

TEST_F(ControlRoutesTest, PagesOfOtherSitesMayNotAsk) {
  start();
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""}) {
    EXPECT_EQ(post("/api/v1/captures", kByService, type).status, 415) << type;
  }
  for (const std::string& origin : {std::string("http://evil.example"), std::string("null"),
                                    "http://evil.example/" + address_, "http://" + address_ + ".evil.example"}) {
    EXPECT_EQ(post("/api/v1/captures", kByService, "application/json", {{"Origin", origin}}).status, 403) << origin;
    EXPECT_EQ(post("/api/v1/tracepoints", "{}", "application/json", {{"Origin", origin}}).status, 403) << origin;
  }
  EXPECT_TRUE(control_->asked_captures().empty());
  EXPECT_EQ(post("/api/v1/captures", kByService, "application/json", {{"Origin", "http://" + address_}}).status, 200);
  EXPECT_EQ(post("/api/v1/captures", kByService, "Application/JSON; charset=utf-8").status, 200);
}

TEST_F(ControlRoutesTest, WithoutAControlNothingCanBeAsked) {
  start(false);
  EXPECT_EQ(post("/api/v1/captures", kByService).status, 501);
  EXPECT_EQ(get("/api/v1/tracepoints").status, 501);
  EXPECT_EQ(post("/api/v1/slowest", "{}").status, 405);
}

}  // namespace
}  // namespace fathom::query
