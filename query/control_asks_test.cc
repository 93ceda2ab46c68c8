#include "query/control_asks.h"

#include <gtest/gtest.h>

namespace fathom::query {
namespace {

constexpr const char* kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";

std::string fault_of_capture(const std::string& body) {
  Result<CaptureAsk> ask = parse_capture_ask(body);
  return ask.ok() ? "" : ask.error().message;
}
std::string fault_of_tracepoints(const std::string& body) {
  Result<TracepointAsk> ask = parse_tracepoint_ask(body);
  return ask.ok() ? "" : ask.error().message;
}

TEST(CaptureAsk, ByTraceProcessOrService) {
  Result<CaptureAsk> ask = parse_capture_ask(R"({"trace_id":")" + std::string(kTrace) + R"("})");
  ASSERT_TRUE(ask.ok());
  EXPECT_EQ(ask->request.trace_id.hex(), kTrace);
  EXPECT_EQ(ask->request.duration_nano, 0u) << "what its spans last";
  ask = parse_capture_ask(R"({"pid":7,"node":"db-1","reason":"why not"})");
  ASSERT_TRUE(ask.ok());
  EXPECT_EQ(*ask, (CaptureAsk{{.pid = 7, .duration_nano = 5'000'000'000, .reason = "why not"}, "db-1"}));
  ask = parse_capture_ask(R"({"service":"shop","duration_nano":60000000000,"ahead":true})");
  ASSERT_TRUE(ask.ok());
  EXPECT_EQ(*ask, (CaptureAsk{{.service = "shop", .duration_nano = 60'000'000'000}, "", true}));
}

TEST(CaptureAsk, FaultsNameTheMember) {
  for (auto [body, names] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "JSON object"},
           {"[]", "JSON object"},
           {"{\"pid\":7", "JSON object"},
           {"{}", "one of"},
           {R"({"pid":7,"service":"x"})", "one of"},
           {R"({"pid":0})", "one of"},
           {R"({"trace_id":"00"})", "trace_id"},
           {R"({"trace_id":"00000000000000000000000000000000"})", "trace_id"},
           {R"({"trace_id":7})", "trace_id"},
           {R"({"pid":-1})", "pid"},
           {R"({"pid":1.5})", "pid"},
           {R"({"pid":"7"})", "pid"},
           {R"({"pid":99999999999})", "pid"},
           {R"({"pid":7,"duration_nano":60000000001})", "duration_nano"},
           {R"({"pid":7,"ahead":1})", "ahead"},
           {R"({"pid":7,"duration":"5s"})", "there is no member 'duration'"}}) {
    EXPECT_NE(fault_of_capture(body).find(names), std::string::npos) << body << ": " << fault_of_capture(body);
  }
  EXPECT_NE(fault_of_capture(R"({"service":")" + std::string(257, 'x') + "\"}").find("service"), std::string::npos);
}

TEST(TracepointAsk, SwitchesByPatterns) {
  Result<TracepointAsk> ask = parse_tracepoint_ask(R"({"action":"disable","patterns":["a.*","b"],"service":"shop"})");
  ASSERT_TRUE(ask.ok());
  TracepointAsk expected{{.action = ingest::TracepointAction::kDisable, .patterns = {"a.*", "b"}, .service = "shop"},
                         ""};
  EXPECT_EQ(*ask, expected);
  for (auto [body, names] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"({"patterns":["x"]})", "action"},
           {R"({"action":"list","patterns":["x"]})", "action"},
           {R"({"action":"enable"})", "patterns"},
           {R"({"action":"enable","patterns":[]})", "patterns"},
           {R"({"action":"enable","patterns":"x"})", "patterns"},
           {R"({"action":"enable","patterns":[7]})", "patterns"},
           {R"({"action":"enable","patterns":["a,b"]})", "a pattern is"},
           {R"({"action":"enable","patterns":["-a"]})", "a pattern is"},
           {R"({"action":"enable","patterns":["a b"]})", "a pattern is"},
           {R"({"action":"enable","patterns":[""]})", "a pattern is"},
           {R"({"action":"enable","patterns":["x"],"trace_id":"7"})", "trace_id"}}) {
    EXPECT_NE(fault_of_tracepoints(body).find(names), std::string::npos) << body << ": " << fault_of_tracepoints(body);
  }
  std::string many = R"({"action":"enable","patterns":["x")";
  for (int i = 0; i < 64; ++i) many += R"(,"x")";
  EXPECT_NE(fault_of_tracepoints(many + "]}").find("64"), std::string::npos);
}

TEST(TracepointAsk, ListsByParameters) {
  net::HttpRequest request;
  request.query = {{"pattern", "a.*"}, {"pattern", "b"}, {"pid", "7"}, {"node", "db-1"}, {"service", "shop"}};
  Result<TracepointAsk> ask = tracepoint_list_ask(request);
  ASSERT_TRUE(ask.ok());
  TracepointAsk expected{{.patterns = {"a.*", "b"}, .pid = 7, .service = "shop"}, "db-1"};
  EXPECT_EQ(*ask, expected);
  for (auto [key, value] : {std::pair("pid", "x"), std::pair("pattern", "a,b"), std::pair("patterns", "x")}) {
    request.query = {{key, value}};
    EXPECT_EQ(tracepoint_list_ask(request).error().code, ErrorCode::kInvalid) << key;
  }
}

}  // namespace
}  // namespace fathom::query
