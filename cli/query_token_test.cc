#include "cli/query_token.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/testing/fake_context.h"

namespace fathom::cli {
namespace {

using File = std::optional<std::string>;
constexpr const char* kLocal = "127.0.0.1:7070";
constexpr const char* kPublic = "0.0.0.0:7070";

ListenerFiles tls_files(const std::string& client_ca = "") {
  ListenerFiles files;
  files.tls = {.certificate = "/c", .key = "/k", .client_ca = client_ca};
  return files;
}

ListenerFiles token_files() {
  ListenerFiles files;
  files.token_file = "/t";
  return files;
}

Result<File> chosen(const File& given, const ListenerFiles& files = {}, const std::string& http = kLocal) {
  return query_token_file(given, {files, {http, ""}, "/nowhere"});
}

TEST(QueryTokenFile, IsTheOneThatIsNamed) {
  EXPECT_EQ(*chosen(std::nullopt), std::nullopt);
  EXPECT_EQ(*chosen("/a/b"), "/a/b");
  EXPECT_EQ(*chosen("none"), "");
  EXPECT_FALSE(chosen("").ok());
}

TEST(QueryTokenFile, NeedsAnAddressOfThisHostOrTls) {
  const Result<File> open = chosen("/a", {}, kPublic);
  ASSERT_FALSE(open.ok());
  EXPECT_NE(open.error().message.find("to 0.0.0.0:7070 in the clear"), std::string::npos);
  EXPECT_EQ(*chosen("/a", tls_files(), kPublic), "/a");
}

TEST(QueryTokenFile, IsNotForListenersThatAskForTokensAlready) {
  const Result<File> both = chosen("/a", token_files());
  ASSERT_FALSE(both.ok());
  EXPECT_NE(both.error().message.find("give one of the two"), std::string::npos);
}

class AutomaticQueryToken : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(data_); }
  File file(const ListenerFiles& files = {}, const std::string& http = kLocal) {
    return *query_token_file(kAutomaticQueryToken, {files, {http, ""}, data_});
  }
  const std::string data_ = ::testing::TempDir() + "query-token-" + std::to_string(::getpid());
  const std::string its_file_ = data_ + "/query-token";
};

TEST_F(AutomaticQueryToken, IsAskedForOfNewData) {
  EXPECT_EQ(file(), its_file_);
  std::filesystem::create_directories(data_ + "/snapshots");
  EXPECT_EQ(file(), its_file_) << "snapshots of the command line are no server's data";
}

TEST_F(AutomaticQueryToken, EarlierInstallationsGoOnWithout) {
  std::filesystem::create_directories(data_ + "/store");
  EXPECT_EQ(file(), std::nullopt);
  std::ofstream(its_file_) << "local:" << std::string(64, 'a') << "\n";
  EXPECT_EQ(file(), its_file_);
}

TEST_F(AutomaticQueryToken, ALinkThatLeadsNowhereIsNoAbsence) {
  std::filesystem::create_directories(data_ + "/store");
  std::filesystem::create_symlink("/nowhere/secret", its_file_);
  EXPECT_EQ(file(), its_file_) << "the server then says that it cannot read it";
}

TEST_F(AutomaticQueryToken, WhatWasAskedForOnceDoesNotEndSilently) {
  std::filesystem::create_directories(data_);
  std::ofstream(its_file_) << "local:" << std::string(64, 'a') << "\n";
  const auto file = query_token_file(kAutomaticQueryToken, {{}, {kPublic, ""}, data_});
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("or, if everybody who reaches it may read and control everything, give 'none'"),
            std::string::npos);
}

TEST_F(AutomaticQueryToken, IsNotAskedForWhereItCannotBe) {
  const auto in_the_clear = query_token_file(kAutomaticQueryToken, {{}, {kPublic, ""}, data_});
  EXPECT_FALSE(in_the_clear.ok()) << "new data is not open to everybody by accident";
  EXPECT_EQ(file(token_files()), std::nullopt);
  EXPECT_EQ(file(tls_files("/ca")), std::nullopt) << "certificates name the clients";
  EXPECT_EQ(file(tls_files(), kPublic), its_file_);
}

TEST(PageCommand, PrintsALinkWithTheCode) {
  FakeWorld world;
  world.answer(200, R"({"code":"c0de","expires_unix_nano":"1"})");
  EXPECT_EQ(world.run({"page", "--url", "http://127.0.0.1:7"}), ExitCode::kOk);
  EXPECT_EQ(world.out, "http://127.0.0.1:7/#login=c0de\n");
  EXPECT_EQ(world.targets, std::vector<std::string>{"/api/v1/page-links"});
}

TEST(PageCommand, PrintsTheAddressWhereNoTokenIsNeeded) {
  FakeWorld world;
  world.answer(200, "{}");
  EXPECT_EQ(world.run({"page", "--url", "http://127.0.0.1:7/base/"}), ExitCode::kOk);
  EXPECT_EQ(world.out, "http://127.0.0.1:7/base/\n");
}

}  // namespace
}  // namespace fathom::cli
