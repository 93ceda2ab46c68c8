// OTLP over HTTP, through real sockets.
#include <gtest/gtest.h>

#include <thread>

#include "collector/collector.h"
#include "collector/otlp_http.h"
#include "collector/testing/fake_store.h"
#include "collector/testing/requests.h"
#include "net/gzip.h"
#include "net/http_client.h"
#include "net/testing/raw_client.h"
#include "rpc_status.pb.h"

namespace fathom::collector {
namespace {

using namespace testing;

constexpr const char* kProtobuf = "application/x-protobuf";
constexpr const char* kJson = "application/json";
constexpr const char* kPath = "/v1/traces";

class OtlpHttpTest : public ::testing::Test {
 protected:
  void start(CollectorOptions options = {}) {
    options.otlp_grpc_address = "";
    options.otlp_http_address = "127.0.0.1:0";
    collector_ = std::make_unique<Collector>(options, store_);
    Result<CollectorAddresses> addresses = collector_->start();
    ASSERT_TRUE(addresses.ok()) << addresses.error().message;
    EXPECT_EQ(addresses->otlp_grpc, "");
    address_ = addresses->otlp_http;
  }
  net::HttpReply post(const char* type, std::string_view body,
                      const std::vector<std::pair<std::string, std::string>>& headers = {}, const char* path = kPath) {
    Result<net::HttpReply> reply = net::HttpClient(address_).post(path, type, body, headers);
    EXPECT_TRUE(reply.ok()) << reply.error().message;
    return reply.ok() ? *reply : net::HttpReply{};
  }
  static std::string header(const net::HttpReply& reply, std::string_view name) {
    for (const auto& [key, value] : reply.headers) {
      if (key == name) return value;
    }
    return "";
  }
  static uint64_t requests(const char* transport, const char* result) {
    return counted("fathom_otlp_requests_total",
                   std::string("transport=\"") + transport + "\",result=\"" + result + "\"");
  }

  FakeStore store_;
  std::unique_ptr<Collector> collector_;
  std::string address_;
};

TEST_F(OtlpHttpTest, TakesProtobufAndJsonPlainAndCompressed) {
  start();
  std::string protobuf = full_request().SerializeAsString(), json = full_request_as_json();
  net::HttpReply reply = post(kProtobuf, protobuf);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(header(reply, "content-type"), kProtobuf);
  reply = post("Application/JSON; charset=utf-8", json);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "{}");
  EXPECT_EQ(header(reply, "content-type"), kJson);
  EXPECT_EQ(post(kProtobuf, net::gzip(protobuf), {{"Content-Encoding", "gzip"}}).status, 200);
  EXPECT_EQ(post(kJson, net::gzip(json), {{"Content-Encoding", "gzip"}}).status, 200);
  EXPECT_EQ(post(kJson, json, {{"Content-Encoding", "identity"}}).status, 200);
  ASSERT_EQ(store_.batches().size(), 5u);
  for (const store::BatchPtr& batch : store_.batches()) EXPECT_EQ(batch->identity(), store_.batches()[0]->identity());
}

TEST_F(OtlpHttpTest, AnEmptyRequestSucceeds) {
  start();
  EXPECT_EQ(post(kProtobuf, "").status, 200);
  EXPECT_EQ(post(kJson, "{}").status, 200);
}

TEST_F(OtlpHttpTest, PartialSuccessIs200) {
  start();
  Request request = simple_request(2);
  first_span(request).clear_trace_id();
  net::HttpReply reply = post(kProtobuf, request.SerializeAsString());
  EXPECT_EQ(reply.status, 200);
  opentelemetry::proto::collector::trace::v1::ExportTraceServiceResponse response;
  ASSERT_TRUE(response.ParseFromString(reply.body));
  EXPECT_EQ(response.partial_success().rejected_spans(), 1);
}

TEST_F(OtlpHttpTest, BadDataIs400WithAStatusInTheSameType) {
  start();
  uint64_t before = requests("http_json", "invalid");
  net::HttpReply reply = post(kProtobuf, "\xff\xff");
  EXPECT_EQ(reply.status, 400);
  google::rpc::Status status;
  ASSERT_TRUE(status.ParseFromString(reply.body));
  EXPECT_EQ(status.code(), 3);
  reply = post(kJson, "{");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.body.substr(0, 10), "{\"code\":3,");
  EXPECT_EQ(requests("http_json", "invalid"), before + 1);
  EXPECT_EQ(post(kJson, "not gzip", {{"Content-Encoding", "gzip"}}).status, 400);
  EXPECT_TRUE(store_.batches().empty());
}

TEST_F(OtlpHttpTest, SaysWhatIsWrongWithPathMethodAndType) {
  start();
  uint64_t before = requests("http_json", "not_found");
  EXPECT_EQ(post(kJson, "{}", {}, "/v1/metrics").status, 404);
  EXPECT_EQ(requests("http_json", "not_found"), before + 1);
  before = requests("http_json", "media_type");
  EXPECT_EQ(post("text/plain", "{}").status, 415);
  EXPECT_EQ(post(kJson, "{}", {{"Content-Encoding", "br"}}).status, 415);
  EXPECT_EQ(requests("http_json", "media_type"), before + 2);
  before = requests("http_json", "method");
  Result<net::HttpReply> get = net::HttpClient(address_).get(kPath);
  ASSERT_TRUE(get.ok());
  EXPECT_EQ(get->status, 405);
  EXPECT_EQ(header(*get, "allow"), "POST");
  EXPECT_EQ(requests("http_json", "method"), before + 1);
}

TEST_F(OtlpHttpTest, OversizedIs413PlainOrCompressed) {
  start({.max_request_bytes = 100'000});
  uint64_t before = requests("http_protobuf", "oversized");
  std::string large = simple_request(5000).SerializeAsString();
  EXPECT_EQ(post(kProtobuf, large).status, 413);
  std::string bomb = net::gzip(std::string(10'000'000, '\0'));
  ASSERT_LT(bomb.size(), 100'000u);
  EXPECT_EQ(post(kProtobuf, bomb, {{"Content-Encoding", "gzip"}}).status, 413);
  EXPECT_EQ(requests("http_protobuf", "oversized"), before + 2);
  EXPECT_EQ(post(kProtobuf, simple_request(10).SerializeAsString()).status, 200) << "nothing else is disturbed";
}

TEST_F(OtlpHttpTest, OverloadIs503WithRetryAfter) {
  start({.budget_bytes = 200'000, .retry_delay_nano = 2'500'000'000});
  store_.hold();
  uint64_t before = requests("http_protobuf", "unavailable");
  net::HttpReply held;
  std::string body = simple_request(500).SerializeAsString();
  std::thread waiting([&] { held = post(kProtobuf, body); });
  store_.wait_for_batches(1);
  net::HttpReply reply = post(kProtobuf, std::string(150'000, 'x'));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(header(reply, "retry-after"), "3");
  google::rpc::Status status;
  ASSERT_TRUE(status.ParseFromString(reply.body));
  EXPECT_EQ(status.code(), 14);
  EXPECT_EQ(status.details_size(), 1);
  EXPECT_EQ(requests("http_protobuf", "unavailable"), before + 1);
  store_.release();
  waiting.join();
  EXPECT_EQ(held.status, 200);
}

TEST_F(OtlpHttpTest, SlowPeersThatPromiseMuchStopNobody) {
  constexpr uint64_t kLarge = 64ull << 20;
  start({.budget_bytes = 3 * kLarge});
  std::vector<net::testing::RawClient> slow;
  for (int i = 0; i < 3; ++i) {
    slow.emplace_back(address_);
    slow.back().send("POST /v1/traces HTTP/1.1\r\nContent-Type: application/x-protobuf\r\nExpect: 100-continue\r\n" +
                     std::string("Content-Length: ") + std::to_string(kLarge) + "\r\n\r\n");
    EXPECT_EQ(net::testing::status_of(slow.back().read_until("\r\n\r\n")), 100) << "it is admitted";
    slow.back().send(std::string(100'000, 'x'));
  }
  EXPECT_EQ(post(kProtobuf, simple_request(5000).SerializeAsString()).status, 200);
}

TEST_F(OtlpHttpTest, WhatCanNeverFitTheBudgetIs413BeforeItIsRead) {
  start({.budget_bytes = 100'000});
  net::testing::RawClient client(address_);
  client.send("POST /v1/traces HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100001\r\n\r\n");
  EXPECT_EQ(net::testing::status_of(client.read_answer()), 413);
}

TEST_F(OtlpHttpTest, RetryAfterIsSentOnceForAChunkedBody) {
  start({.budget_bytes = 1000, .retry_delay_nano = 2'500'000'000});
  net::testing::RawClient client(address_);
  client.send(
      "POST /v1/traces HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}");
  std::string answer = client.read_answer();
  EXPECT_EQ(net::testing::status_of(answer), 503);
  size_t first = answer.find("Retry-After: 3\r\n");
  ASSERT_NE(first, std::string::npos) << answer;
  EXPECT_EQ(answer.find("Retry-After", first + 1), std::string::npos) << answer;
}

TEST_F(OtlpHttpTest, TheStoresRefusalIs503) {
  start();
  store_.script({{store::AppendOutcome::kRetryable, "the disk is full"}});
  net::HttpReply reply = post(kJson, full_request_as_json());
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(header(reply, "retry-after"), "1");
  EXPECT_NE(reply.body.find("the disk is full"), std::string::npos);
}

TEST_F(OtlpHttpTest, BrowsersAreAnsweredWhenTheirOriginIsAllowed) {
  start({.cors_allow_origin = "https://shop.test"});
  net::HttpReply reply = post(kJson, "{}", {{"Origin", "https://shop.test"}});
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(header(reply, "access-control-allow-origin"), "https://shop.test");
  reply = post(kJson, "{}", {{"Origin", "https://evil.test"}});
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(header(reply, "access-control-allow-origin"), "");
}

TEST_F(OtlpHttpTest, PagesOfOtherSitesStoreNothingUnlessTheyMay) {
  start();
  for (const char* type : {kJson, "text/plain"}) {
    net::HttpReply reply = post(type, full_request_as_json(), {{"Origin", "https://shop.test"}});
    EXPECT_EQ(reply.status, 403) << type;
    EXPECT_EQ(header(reply, "access-control-allow-origin"), "");
    EXPECT_EQ(post(type, full_request_as_json(), {{"Sec-Fetch-Site", "cross-site"}}).status, 403) << type;
  }
  EXPECT_TRUE(store_.batches().empty());
}

TEST(OtlpHttpPreflight, IsAnsweredWithWhatWasAskedFor) {
  FakeStore store;
  auto handler = make_otlp_http_handler(std::make_shared<Ingest>(IngestOptions{}, store), "*");
  net::HttpRequest request;
  request.method = "OPTIONS";
  request.path = kPath;
  request.headers = {{"origin", "https://shop.test"}, {"access-control-request-headers", "content-type, x-key"}};
  std::optional<net::HttpResponse> response = handler->admit(request);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 204);
  std::string all;
  for (const auto& [name, value] : response->headers) all += name + ": " + value + "\n";
  EXPECT_NE(all.find("Access-Control-Allow-Origin: *\n"), std::string::npos);
  EXPECT_NE(all.find("Access-Control-Allow-Headers: content-type, x-key\n"), std::string::npos);
}

TEST_F(OtlpHttpTest, AnAnsweredPreflightIsNoRefusal) {
  start({.cors_allow_origin = "*"});
  uint64_t before = counted("fathom_http_refused_total", "listener=\"otlp_http\",reason=\"not_admitted\"");
  net::testing::RawClient client(address_);
  client.send("OPTIONS /v1/traces HTTP/1.1\r\nOrigin: https://shop.test\r\n\r\n");
  EXPECT_EQ(net::testing::status_of(client.read_answer()), 204);
  EXPECT_EQ(counted("fathom_http_refused_total", "listener=\"otlp_http\",reason=\"not_admitted\""), before);
}

TEST_F(OtlpHttpTest, ErrorsOfHttpItselfAreStatusesToo) {
  start();
  uint64_t before = requests("http_protobuf", "invalid") + requests("http_json", "invalid");
  const struct {
    int status, code;
    const char* header;
  } kCases[] = {
      {400, 3, "Content-Length: 1\r\nContent-Length: 2\r\n"},
      {400, 3, "Content-Length: -1\r\n"},
      {501, 12, "Transfer-Encoding: gzip, chunked\r\n"},
      {400, 3, "no field\r\n"},
  };
  for (const auto& test : kCases) {
    auto exchange = [&](const std::string& header) {
      net::testing::RawClient client(address_);
      client.send("POST /v1/traces HTTP/1.1\r\n" + header + "\r\n");
      client.finish_sending();
      return client.read_all();
    };
    std::string protobuf = exchange(test.header + std::string("Content-Type: application/x-protobuf\r\n"));
    EXPECT_EQ(net::testing::status_of(protobuf), test.status);
    EXPECT_NE(protobuf.find("Content-Type: application/x-protobuf\r\n"), std::string::npos) << protobuf;
    google::rpc::Status status;
    ASSERT_TRUE(status.ParseFromString(net::testing::body_of(protobuf)));
    EXPECT_EQ(status.code(), test.code);
    EXPECT_NE(status.message(), "");
    std::string json = exchange(test.header);
    EXPECT_NE(json.find("Content-Type: application/json\r\n"), std::string::npos) << json;
    std::string begin = "{\"code\":" + std::to_string(test.code) + ",\"message\":\"";
    EXPECT_EQ(net::testing::body_of(json).find(begin), 0u) << json;
  }
  EXPECT_EQ(requests("http_protobuf", "invalid") + requests("http_json", "invalid"), before) << "no request was seen";
}

TEST(OtlpHttpError, AsksForARetryWhenThereAreTooManyConnections) {
  FakeStore store;
  auto handler =
      make_otlp_http_handler(std::make_shared<Ingest>(IngestOptions{.retry_delay_nano = 2'000'000'000}, store), "");
  net::HttpResponse response = handler->error(503, "later", "");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.headers, (std::vector<std::pair<std::string, std::string>>{{"Retry-After", "2"}}));
  EXPECT_EQ(response.body.find("{\"code\":14,\"message\":\"later\",\"details\":"), 0u) << response.body;
}

// OTLP's specification has 429, 502, 503 and 504 repeated, and no other status.
TEST(OtlpHttpExplain, WhoeverWasTooSlowIsToComeAgain) {
  FakeStore store;
  auto handler =
      make_otlp_http_handler(std::make_shared<Ingest>(IngestOptions{.retry_delay_nano = 2'000'000'000}, store), "");
  net::HttpRequest request;
  request.headers = {{"content-type", kProtobuf}};
  uint64_t before = counted("fathom_otlp_requests_total", R"(transport="http_protobuf",result="timeout")");
  const net::HttpResponse answers[] = {handler->explain(request, 408, "slow"), handler->error(408, "slow", kProtobuf)};
  for (const net::HttpResponse& response : answers) {
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(response.headers, (std::vector<std::pair<std::string, std::string>>{{"Retry-After", "2"}}));
    google::rpc::Status body;
    ASSERT_TRUE(body.ParseFromString(response.body));
    EXPECT_EQ(body.code(), 14);
    EXPECT_EQ(body.message(), "slow");
    EXPECT_EQ(body.details_size(), 1);
  }
  EXPECT_EQ(counted("fathom_otlp_requests_total", R"(transport="http_protobuf",result="timeout")"), before + 1)
      << "a header that never came is counted by HTTP only";
}

TEST(OtlpHttpExplain, ShapesTheServersOwnRefusals) {
  FakeStore store;
  auto handler = make_otlp_http_handler(std::make_shared<Ingest>(IngestOptions{}, store), "");
  net::HttpRequest request;
  request.headers = {{"content-type", kProtobuf}};
  for (auto [status, code] : {std::pair{413, 8}, {400, 3}, {417, 3}, {503, 14}}) {
    net::HttpResponse response = handler->explain(request, status, "why");
    EXPECT_EQ(response.status, status);
    google::rpc::Status body;
    ASSERT_TRUE(body.ParseFromString(response.body));
    EXPECT_EQ(body.code(), code);
    EXPECT_EQ(body.message(), "why");
  }
}

}  // namespace
}  // namespace fathom::collector
