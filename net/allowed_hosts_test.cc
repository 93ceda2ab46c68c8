#include "net/allowed_hosts.h"

#include <gtest/gtest.h>

#include "net/testing/http_server_fixture.h"

namespace fathom::net {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

bool is_refused(const AllowedHosts& hosts, Headers headers, bool allows_origin = false) {
  HttpRequest request;
  request.method = "GET";
  request.headers = std::move(headers);
  return hosts.refuse(request, allows_origin).has_value();
}

constexpr const char* kStrangers[] = {"evil.example:7070",
                                      "evil.example",
                                      "localhost.evil.example:7070",
                                      "127.0.0.1.evil.example",
                                      "[evil.example]:7070",
                                      "[::1",
                                      "::1",
                                      "[]",
                                      ":7070",
                                      "localhost.",
                                      "2130706433:7070"};
constexpr const char* kAddresses[] = {"127.0.0.1:7070", "10.1.2.3",   "localhost:7070",
                                      "LocalHost",      "[::1]:7070", "[fe80::1]"};

// A page of evil.example, whose name server says by now that evil.example is 127.0.0.1.
TEST(AllowedHosts, OfNamesOnlyLocalhostIsAnswered) {
  const AllowedHosts hosts;
  for (const char* host : kStrangers) EXPECT_TRUE(is_refused(hosts, {{"host", host}})) << host;
  for (const char* host : kAddresses) EXPECT_FALSE(is_refused(hosts, {{"host", host}})) << host;
  EXPECT_FALSE(is_refused(hosts, {})) << "HTTP/1.0";
}

TEST(AllowedHosts, ConfiguredNamesAreAnswered) {
  const AllowedHosts hosts({"Traces.Example"});
  EXPECT_FALSE(is_refused(hosts, {{"host", "traces.example:7070"}}));
  EXPECT_FALSE(is_refused(hosts, {{"host", "TRACES.example"}}));
  EXPECT_TRUE(is_refused(hosts, {{"host", "evil.example"}}));
  EXPECT_TRUE(is_refused(hosts, {{"host", "x.traces.example"}}));
  EXPECT_FALSE(is_refused(AllowedHosts({"*"}), {{"host", "evil.example"}}));
}

TEST(AllowedHosts, AnOriginIsThisHostOrOneThatTheHandlerAllows) {
  const AllowedHosts hosts;
  for (const char* host : kAddresses) {
    const std::string own = "http://" + std::string(host);
    EXPECT_FALSE(is_refused(hosts, {{"host", host}, {"origin", own}})) << host;
    for (const std::string& other : {std::string("http://evil.example"), std::string("null"), own + ".evil.example"}) {
      EXPECT_TRUE(is_refused(hosts, {{"host", host}, {"origin", other}})) << host << ' ' << other;
      EXPECT_FALSE(is_refused(hosts, {{"host", host}, {"origin", other}}, true)) << host << ' ' << other;
    }
  }
  EXPECT_TRUE(is_refused(hosts, {{"host", "evil.example"}, {"origin", "http://evil.example"}}, true));
}

TEST(AllowedHosts, WhatAnotherSiteAsksForIsRefusedAndItsLinksAreFollowed) {
  const AllowedHosts hosts;
  const auto refused = [&](Headers headers) {
    headers.emplace_back("host", "localhost:7070");
    return is_refused(hosts, std::move(headers));
  };
  for (const char* site : {"cross-site", "same-site", "anything"}) {
    EXPECT_TRUE(refused({{"sec-fetch-site", site}})) << site;
    EXPECT_TRUE(refused({{"sec-fetch-site", site}, {"sec-fetch-mode", "no-cors"}, {"sec-fetch-dest", "image"}}));
    EXPECT_TRUE(refused({{"sec-fetch-site", site}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", "iframe"}}));
    EXPECT_FALSE(refused({{"sec-fetch-site", site}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", "document"}}));
  }
  for (const char* site : {"same-origin", "none"}) EXPECT_FALSE(refused({{"sec-fetch-site", site}})) << site;
}

TEST(AllowedHosts, WhereAnyNameIsAnsweredAPageNeedsOneThatIsKnown) {
  const AllowedHosts hosts = AllowedHosts::any_without_origin();
  const Headers own = {{"host", "evil.example"}, {"origin", "http://evil.example"}};
  EXPECT_FALSE(is_refused(hosts, {{"host", "traces.example"}}));
  EXPECT_TRUE(is_refused(hosts, own));
  EXPECT_FALSE(is_refused(hosts, own, true)) << "an SDK in a page that may send";
  EXPECT_FALSE(is_refused(hosts, {{"host", "10.1.2.3"}, {"origin", "http://10.1.2.3"}}));
}

using testing::HttpServerTest;

TEST_F(HttpServerTest, RequestsForOtherHostsAreRefused) {
  start();
  const uint64_t before = testing::refused("other_site");
  for (const char* path : {"/x", "/healthz"}) {
    const std::string answer =
        exchange("GET " + std::string(path) + " HTTP/1.1\r\nHost: evil.example:7070\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(testing::status_of(answer), 403) << answer;
    EXPECT_NE(answer.find("--allowed-host evil.example"), std::string::npos) << answer;
  }
  EXPECT_EQ(testing::refused("other_site"), before + 2);
}

TEST_F(HttpServerTest, AListenerThatOthersReachAnswersAnyNameUntilNamesAreConfigured) {
  const std::string request = "GET /x HTTP/1.1\r\nHost: traces.example\r\nConnection: close\r\n\r\n";
  start({.address = "0.0.0.0:0"});
  address_ = "127.0.0.1" + address_.substr(address_.rfind(':'));
  EXPECT_EQ(testing::status_of(exchange(request)), 200);
  EXPECT_EQ(
      testing::status_of(exchange("GET /x HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n")),
      403);
  server_->stop(0);
  HttpServerOptions options{.address = "0.0.0.0:0"};
  options.security.hosts = AllowedHosts({"other.example"});
  start(options);
  address_ = "127.0.0.1" + address_.substr(address_.rfind(':'));
  EXPECT_EQ(testing::status_of(exchange(request)), 403);
}

}  // namespace
}  // namespace fathom::net
