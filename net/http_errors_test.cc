// What the server itself answers with, who shapes it, and how refusals are counted.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/metrics.h"
#include "net/http_server.h"
#include "net/testing/http_server_fixture.h"

namespace fathom::net {
namespace {

using testing::body_of;
using testing::RawClient;
using testing::refused;
using testing::ScriptedHandler;
using testing::status_of;

class HttpErrorsTest : public testing::HttpServerTest {};

TEST_F(HttpErrorsTest, ErrorsAreJsonUnlessTheHandlerSaysOtherwise) {
  start();
  std::string answer = exchange("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n");
  EXPECT_EQ(status_of(answer), 400);
  EXPECT_NE(answer.find("Content-Type: application/json\r\n"), std::string::npos) << answer;
  EXPECT_EQ(body_of(answer).find("{\"error\":{\"code\":\"bad_request\",\"message\":"), 0u) << answer;
}

TEST_F(HttpErrorsTest, TheHandlerShapesErrorsAndIsToldTheContentType) {
  handler_->own_errors = true;
  start();
  const std::string type = "content-TYPE: \ta/b; c=d \r\n";
  const struct {
    int status;
    std::string request;
    const char* body;
  } kCases[] = {
      {400, "POST / HTTP/1.1\r\n" + type + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "own error of 'a/b; c=d'"},
      {400, "POST / HTTP/1.1\r\nContent-Length: -1\r\n" + type + "\r\n", "own error of 'a/b; c=d'"},
      {400, "POST / HTTP/1.1\r\nbad header\r\n\r\n" + type, "own error of ''"},
      {400, "not HTTP at all\r\n\r\n", "own error of ''"},
      {400, "POST /%zz HTTP/1.1\r\n" + type + "\r\n", "own error of 'a/b; c=d'"},
      {501, "POST / HTTP/1.1\r\n" + type + "Transfer-Encoding: gzip, chunked\r\n\r\n", "own error of 'a/b; c=d'"},
      {417, "POST / HTTP/1.1\r\nExpect: more\r\nContent-Length: 9\r\n" + type + "\r\n", "own error of 'a/b; c=d'"},
      {431, "POST / HTTP/1.1\r\n" + type + "x: " + std::string(70'000, 'y') + "\r\n\r\n", "own error of 'a/b; c=d'"},
      {413, "POST / HTTP/1.1\r\nContent-Length: 9999999\r\n" + type + "\r\n", "own error of 'a/b; c=d'"},
      {500, "POST /dropped HTTP/1.1\r\n" + type + "\r\n", "own error of 'a/b; c=d'"},
  };
  for (const auto& test : kCases) {
    std::string answer = exchange(test.request);
    EXPECT_EQ(status_of(answer), test.status) << test.request.substr(0, 200);
    EXPECT_EQ(body_of(answer), test.body) << test.request.substr(0, 200);
  }
}

TEST_F(HttpErrorsTest, TheHandlerShapesErrorsOfTheSlowAndTheTooMany) {
  handler_->own_errors = true;
  start({.max_connections = 1, .header_timeout_nano = 50'000'000});
  RawClient slow = connect();
  slow.send("POST / HTTP/1.1\r\nContent-Type: a/b\r\nx: ");
  std::string answer = slow.read_until("'a/b'");
  EXPECT_EQ(status_of(answer), 408);
  EXPECT_EQ(body_of(answer), "own error of 'a/b'");
  answer = connect().read_all();  // the first one lingers
  EXPECT_EQ(status_of(answer), 503);
  EXPECT_EQ(body_of(answer), "own error of ''");
  EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos) << answer;
}

TEST_F(HttpErrorsTest, AnAnswerToThePreflightIsNoRefusal) {
  start();
  uint64_t before = refused("not_admitted");
  EXPECT_EQ(status_of(exchange("OPTIONS /preflight HTTP/1.1\r\n\r\n")), 204);
  EXPECT_EQ(refused("not_admitted"), before);
  EXPECT_EQ(status_of(exchange("OPTIONS /refused HTTP/1.1\r\n\r\n")), 403);
  EXPECT_EQ(refused("not_admitted"), before + 1);
}

TEST(HttpServerMetrics, AreListedBeforeAnythingHappens) {
  HttpServer server({.listener = "fresh"}, std::make_shared<ScriptedHandler>());
  std::string metrics = render_metrics();
  for (const char* reason :
       {"malformed", "header_too_large", "header_timeout", "not_admitted", "body_too_large", "body_timeout", "cut_off",
        "memory", "answer_memory", "reader_too_slow", "too_many_connections", "accept_failed"}) {
    std::string series = "fathom_http_refused_total{listener=\"fresh\",reason=\"" + std::string(reason) + "\"} 0\n";
    EXPECT_NE(metrics.find(series), std::string::npos) << series;
  }
  for (const char* status :
       {"200", "204", "400", "404", "405", "408", "413", "415", "417", "431", "500", "501", "503"}) {
    std::string series = "fathom_http_answers_total{listener=\"fresh\",status=\"" + std::string(status) + "\"} 0\n";
    EXPECT_NE(metrics.find(series), std::string::npos) << series;
  }
  EXPECT_NE(metrics.find("fathom_http_connections{listener=\"fresh\"} 0\n"), std::string::npos);
}

}  // namespace
}  // namespace fathom::net
