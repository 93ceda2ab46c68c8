// What the JSON face asks of tokens, and how the page gets one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <regex>
#include <set>

#include "net/http_client.h"
#include "net/testing/raw_client.h"
#include "net/tokens.h"
#include "query/page_links.h"
#include "query/query_server.h"
#include "query/testing/sample_store.h"

namespace fathom::query {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

// Each scope has a token of its own.
std::string token_of(net::Scope scope) {
  return std::string(32, static_cast<char>('a' + static_cast<int>(scope)));
}

std::string code_in(const std::string& body) {
  std::smatch found;
  return std::regex_search(body, found, std::regex("\"code\":\"([0-9a-f]{64})\"")) ? found[1].str() : "";
}

class AccessTest : public ::testing::Test {
 protected:
  void start(bool with_tokens = true) {
    QueryOptions options;
    if (with_tokens) options.security.tokens = tokens();
    options.security.named_token_file = "/var/lib/fathom/query-token";
    server_ = std::make_unique<QueryServer>(options, store_);
    auto bound = server_->start();
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    server_->set_ready(true);
    address_ = *bound;
  }
  static std::shared_ptr<net::Tokens> tokens() {
    const std::string path = ::testing::TempDir() + "access-" + std::to_string(::getpid());
    std::ofstream file(path);
    for (size_t i = 0; i < net::kScopeNames.size(); ++i) {
      const auto scope = static_cast<net::Scope>(i);
      file << net::name_of(scope) << ":" << token_of(scope) << " " << net::name_of(scope) << "\n";
    }
    file.close();
    auto loaded = net::Tokens::load(path);
    EXPECT_TRUE(loaded.ok());
    ::unlink(path.c_str());
    return loaded.ok() ? *loaded : nullptr;
  }
  static Headers bearer(const std::string& token) {
    return token.empty() ? Headers{} : Headers{{"authorization", "Bearer " + token}};
  }
  net::HttpReply post(const std::string& path, const std::string& token, const std::string& type = "application/json") {
    auto reply = net::HttpClient(address_).post(path, type, "{}", bearer(token));
    EXPECT_TRUE(reply.ok());
    return reply.ok() ? *std::move(reply) : net::HttpReply{};
  }
  int get(const std::string& path, const std::string& token) {
    const std::string file = ::testing::TempDir() + "access-one-" + std::to_string(::getpid());
    std::ofstream(file) << token;
    net::ClientSecurity security;
    if (!token.empty()) security.token_file = file;
    auto reply = net::HttpClient(address_, 30'000'000'000, security).get(path);
    ::unlink(file.c_str());
    EXPECT_TRUE(reply.ok()) << (reply.ok() ? "" : reply.error().message);
    return reply.ok() ? reply->status : 0;
  }
  // The scopes whose token is not refused there.
  std::set<std::string> let_in(const std::string& method, const std::string& path) {
    std::set<std::string> names;
    for (size_t i = 0; i < net::kScopeNames.size(); ++i) {
      const std::string token = token_of(static_cast<net::Scope>(i));
      const int status = method == "GET" ? get(path, token) : post(path, token).status;
      if (status != 401 && status != 403) names.emplace(net::kScopeNames[i]);
    }
    return names;
  }

  testing::SampleStore store_;
  std::unique_ptr<QueryServer> server_;
  std::string address_;
};

TEST_F(AccessTest, EachAddressNeedsItsScope) {
  start();
  using Names = std::set<std::string>;
  for (const char* path :
       {"/api/v1/slowest", "/api/v1/services", "/api/v1/traces/01", "/api/v1/captures", "/api/v1/captures/01/content",
        "/api/v1/nodes", "/api/v1/status", "/api/v1/tracepoints", "/api/v1/nothing", "/"})
    EXPECT_EQ(let_in("GET", path), Names{"query"}) << path;
  for (const char* path : {"/api/v1/snapshots", "/api/v1/snapshots/01/insns", "/api/v1/snapshots/01/view"})
    EXPECT_EQ(let_in("GET", path), Names{"snapshots"}) << path;
  for (const char* path : {"/api/v1/captures", "/api/v1/tracepoints"})
    EXPECT_EQ(let_in("POST", path), Names{"control"}) << path;
  EXPECT_EQ(let_in("POST", "/api/v1/page-links"), Names{"query"});
}

TEST_F(AccessTest, ProbesNeedNone) {
  start();
  for (const char* path : {"/healthz", "/readyz", "/metrics"}) EXPECT_EQ(get(path, ""), 200) << path;
  EXPECT_EQ(get("/api/v1/services", ""), 401);
}

TEST_F(AccessTest, WithoutAPageABrowserIsToldHowToGetOne) {
  start();
  net::testing::RawClient browser(address_);
  browser.send("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(net::testing::status_of(browser.read_all()), 200);
  net::testing::RawClient api(address_);
  api.send("GET /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(net::testing::status_of(api.read_all()), 401);
}

TEST_F(AccessTest, TheFileOfTheTokenIsNamedToThoseWithoutOne) {
  start();
  auto reply = net::HttpClient(address_).get("/api/v1/services");
  ASSERT_TRUE(reply.ok());
  const Headers::value_type expected{"www-authenticate",
                                     "Bearer realm=\"fathom\", token_file=\"/var/lib/fathom/query-token\""};
  EXPECT_NE(std::ranges::find(reply->headers, expected), reply->headers.end());
}

TEST_F(AccessTest, ALinkGivesThePageTheCallersTokenOnce) {
  start();
  const std::string token = token_of(net::Scope::kQuery);
  const net::HttpReply link = post("/api/v1/page-links", token);
  ASSERT_EQ(link.status, 200);
  const std::string code = code_in(link.body);
  ASSERT_FALSE(code.empty()) << link.body;
  EXPECT_EQ(post("/api/v1/page-links/" + std::string(64, '0'), "").status, 404);
  EXPECT_EQ(post("/api/v1/page-links/" + code, "", "text/plain").status, 415) << "what a page of another site can send";
  const net::HttpReply redeemed = post("/api/v1/page-links/" + code, "");
  EXPECT_EQ(redeemed.status, 200);
  EXPECT_EQ(redeemed.body, "{\"token\":\"" + token + "\"}");
  EXPECT_NE(std::ranges::find(redeemed.headers, Headers::value_type{"cache-control", "no-store"}),
            redeemed.headers.end());
  EXPECT_EQ(post("/api/v1/page-links/" + code, "").status, 404);
}

TEST_F(AccessTest, WithoutTokensALinkHasNoCode) {
  start(false);
  EXPECT_EQ(post("/api/v1/page-links", "").body, "{}");
}

class PageLinksTest : public ::testing::Test {
 protected:
  std::string make() {
    net::HttpRequest request{.method = "POST", .path = "/api/v1/page-links"};
    request.headers = {{"authorization", "Bearer " + std::string(32, 't')}};
    request.token_name = "ann";
    return code_in(links_.answer(request).body);
  }
  int redeem(const std::string& code) {
    return links_.answer({.method = "POST", .path = "/api/v1/page-links/" + code}).status;
  }

  uint64_t now_unix_nano_ = 1'000'000'000;
  PageLinks links_{[this] { return now_unix_nano_; }};
};

TEST_F(PageLinksTest, CodesExpire) {
  const std::string early = make();
  now_unix_nano_ += PageLinks::kLifeNano - 1;
  const std::string late = make();
  EXPECT_EQ(redeem(early), 200);
  now_unix_nano_ += PageLinks::kLifeNano;
  EXPECT_EQ(redeem(late), 404);
}

TEST_F(PageLinksTest, TheOldestMakesRoom) {
  const std::string first = make(), second = make();
  for (size_t i = 0; i < PageLinks::kMost - 1; ++i) make();
  EXPECT_EQ(redeem(first), 404);
  EXPECT_EQ(redeem(second), 200);
}

}  // namespace
}  // namespace fathom::query
