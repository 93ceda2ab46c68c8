#include "net/local_token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/testing/scripted_handler.h"
#include "net/tokens.h"

namespace fathom::net {
namespace {

constexpr uint64_t kMinuteNano = 60'000'000'000;

// A server of ours that asks for the token of a file of ours, and names it.
class LocalTokenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(file_) << "local:" << std::string(64, 'a') << "\n";
    ASSERT_EQ(::chmod(file_.c_str(), 0600), 0);
    start("127.0.0.1:0");
  }
  void TearDown() override { ::unlink(file_.c_str()); }
  void start(const std::string& address) {
    ListenerSecurity security;
    security.tokens = *Tokens::load(file_);
    security.named_token_file = file_;
    server_ = std::make_unique<HttpServer>(
        HttpServerOptions{.listener = "local", .address = address, .security = security}, handler_);
    auto bound = server_->start();
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    address_ = *bound;
  }
  HttpReply get(bool finds_token = true) {
    ClientSecurity security;
    security.finds_token = finds_token;
    auto reply = HttpClient("http://" + address_, kMinuteNano, security).get("/x");
    EXPECT_TRUE(reply.ok()) << (reply.ok() ? "" : reply.error().message);
    return reply.ok() ? *std::move(reply) : HttpReply{};
  }

  const std::string file_ = ::testing::TempDir() + "local-token-" + std::to_string(::getpid());
  std::shared_ptr<testing::ScriptedHandler> handler_ = std::make_shared<testing::ScriptedHandler>();
  std::unique_ptr<HttpServer> server_;
  std::string address_;
};

TEST_F(LocalTokenTest, IsFoundByTheUserOfTheServer) {
  EXPECT_EQ(get().status, 200);
  EXPECT_EQ(get(false).status, 401);
}

TEST_F(LocalTokenTest, IsFoundOverEveryConnectionAnew) {
  ClientSecurity security;
  security.finds_token = true;
  HttpClient client("http://" + address_, kMinuteNano, security);
  EXPECT_EQ(client.get("/x")->status, 200);
  EXPECT_EQ(client.get("/x")->status, 200);
  server_.reset();
  start(address_);
  EXPECT_EQ(client.get("/x")->status, 200);
}

TEST_F(LocalTokenTest, IsFoundOverVersion6) {
  server_.reset();
  HttpServer probe({.listener = "probe", .address = "[::1]:0"}, handler_);
  if (!probe.start()) GTEST_SKIP() << "this host has no IPv6";
  start("[::1]:0");
  EXPECT_EQ(get().status, 200);
}

TEST_F(LocalTokenTest, AFileThatOthersCanWriteIsNotUsed) {
  ASSERT_EQ(::chmod(file_.c_str(), 0622), 0);
  const HttpReply reply = get();
  EXPECT_EQ(reply.status, 401);
  EXPECT_NE(reply.why_no_token.find("others can write to it"), std::string::npos);
}

TEST_F(LocalTokenTest, AFileOfAnotherUserIsNotUsed) {
  if (::chown(file_.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give a file to another user";
  const HttpReply reply = get();
  EXPECT_EQ(reply.status, 401) << "a server could name any file that root may read";
  EXPECT_NE(reply.why_no_token.find("another user than its owner"), std::string::npos);
}

TEST_F(LocalTokenTest, ALinkIsNotFollowed) {
  const std::string target = file_ + "-target";
  ASSERT_EQ(::rename(file_.c_str(), target.c_str()), 0);
  ASSERT_EQ(::symlink(target.c_str(), file_.c_str()), 0);
  EXPECT_EQ(get().status, 401);
  ::unlink(target.c_str());
}

TEST_F(LocalTokenTest, AMissingFileIsNamed) {
  ::unlink(file_.c_str());
  EXPECT_NE(get().why_no_token.find(file_ + ", which was not used: No such file"), std::string::npos);
}

}  // namespace
}  // namespace fathom::net
