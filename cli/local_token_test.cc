#include "cli/local_token.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/fd.h"
#include "cli/context.h"

namespace fathom::cli {
namespace {

net::HttpReply challenge(const std::string& value) {
  return {401, {{"content-type", "text/plain"}, {"www-authenticate", value}}, ""};
}

TEST(NamedTokenFile, IsTheAbsolutePathOfTheChallenge) {
  EXPECT_EQ(named_token_file(challenge("Bearer realm=\"fathom\", token_file=\"/a b/c\"")), "/a b/c");
  EXPECT_EQ(named_token_file(challenge("Bearer realm=\"fathom\"")), std::nullopt);
  EXPECT_EQ(named_token_file(challenge("Bearer token_file=\"relative\"")), std::nullopt);
  EXPECT_EQ(named_token_file(challenge("Bearer token_file=\"")), std::nullopt);
  EXPECT_EQ(named_token_file({401, {}, ""}), std::nullopt);
}

// A socket of ours that listens, and a token file of ours.
class TokenOfListener : public ::testing::Test {
 protected:
  void SetUp() override {
    listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(listener_.get(), any, size), 0);
    ASSERT_EQ(::listen(listener_.get(), 1), 0);
    ASSERT_EQ(::getsockname(listener_.get(), any, &size), 0);
    port_ = std::to_string(ntohs(address.sin_port));
    std::ofstream(file_) << "local:" << std::string(64, 'a') << "\n";
    ASSERT_EQ(::chmod(file_.c_str(), 0600), 0);
  }
  void TearDown() override { ::unlink(file_.c_str()); }
  bool is_known_at(const std::string& server) { return is_token_of_listener(file_, server); }

  const std::string file_ = ::testing::TempDir() + "local-token-" + std::to_string(::getpid());
  Fd listener_;
  std::string port_;
};

TEST_F(TokenOfListener, IsThatOfTheUserWhoListens) {
  EXPECT_TRUE(is_known_at("http://127.0.0.1:" + port_));
  EXPECT_TRUE(is_known_at("http://localhost:" + port_));
  EXPECT_FALSE(is_known_at("https://127.0.0.1:" + port_)) << "which the file is not made for";
  EXPECT_FALSE(is_known_at("http://192.0.2.1:" + port_));
  EXPECT_FALSE(is_known_at("http://127.0.0.1"));
}

TEST_F(TokenOfListener, NobodyListens) {
  listener_.close();
  EXPECT_FALSE(is_known_at("http://127.0.0.1:" + port_));
}

TEST_F(TokenOfListener, OthersCanWriteTheFile) {
  ASSERT_EQ(::chmod(file_.c_str(), 0622), 0);
  EXPECT_FALSE(is_known_at("http://127.0.0.1:" + port_));
}

TEST_F(TokenOfListener, TheFileIsAnotherUsers) {
  if (::chown(file_.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give a file to another user";
  EXPECT_FALSE(is_known_at("http://127.0.0.1:" + port_)) << "who listens could name any file that root may read";
}

TEST(WithLocalToken, SendsAgainOnceTheFileIsCertain) {
  int reconnected = 0;
  const HttpGet get = with_local_token<HttpGet>([](std::string_view) { return challenge("Bearer realm=\"fathom\""); },
                                                "http://127.0.0.1:1",
                                                [&](const std::string&) -> HttpGet {
                                                  ++reconnected;
                                                  return [](std::string_view) { return net::HttpReply{200, {}, ""}; };
                                                });
  EXPECT_EQ(get("/")->status, 401);
  EXPECT_EQ(reconnected, 0) << "no file is named";
}

TEST_F(TokenOfListener, IsSentFromThenOn) {
  int plain = 0, with_token = 0;
  const HttpGet get = with_local_token<HttpGet>(
      [&](std::string_view) {
        ++plain;
        return challenge("Bearer realm=\"fathom\", token_file=\"" + file_ + "\"");
      },
      "http://127.0.0.1:" + port_,
      [&](const std::string& file) -> HttpGet {
        EXPECT_EQ(file, file_);
        return [&](std::string_view) {
          ++with_token;
          return net::HttpReply{200, {}, ""};
        };
      });
  EXPECT_EQ(get("/")->status, 200);
  EXPECT_EQ(get("/")->status, 200);
  EXPECT_EQ(plain, 1);
  EXPECT_EQ(with_token, 2);
}

}  // namespace
}  // namespace fathom::cli
