#include "net/tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "net/token_file.h"

namespace fathom::net {
namespace {

const std::string kAll(32, 'a'), kReader(32, 'r'), kSender(32, 's');

std::string path_of(const std::string& name) {
  return ::testing::TempDir() + "tokens-test-" + std::to_string(::getpid()) + "-" + name;
}

Scopes scopes(std::initializer_list<Scope> list) {
  Scopes all;
  for (Scope scope : list) all.add(scope);
  return all;
}

TEST(TokenLines, HaveANameATokenAndScopes) {
  const auto tokens = parse_tokens(
      "f", kAll + "\nann:" + kReader + "  query,snapshots \n# none\nthe web: shop:" + kSender + "\tingest\r\n");
  ASSERT_TRUE(tokens.ok()) << tokens.error().message;
  const std::vector<Token> expected = {{"", kAll, Scopes::all()},
                                       {"ann", kReader, scopes({Scope::kQuery, Scope::kSnapshots})},
                                       {"the web: shop", kSender, scopes({Scope::kIngest})}};
  EXPECT_EQ(*tokens, expected);
}

TEST(TokenLines, NameTheLineAndTheScopesThatThereAre) {
  for (const char* list : {"reading", "query,", ",query", "query control", "QUERY"}) {
    const auto tokens = parse_tokens("f", "\nann:" + kReader + " " + list);
    ASSERT_FALSE(tokens.ok()) << list;
    EXPECT_EQ(tokens.error().message.find("f:2: "), 0U) << tokens.error().message;
    EXPECT_NE(tokens.error().message.find("ingest,agent,query,control,snapshots"), std::string::npos);
    EXPECT_EQ(tokens.error().message.find(kReader), std::string::npos) << "a token is a secret";
  }
}

class TokensTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(file_) << kAll << "\nann:" << kReader << " query\nshop:" << kSender << " ingest,agent\n";
    auto loaded = Tokens::load(file_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    tokens_ = *loaded;
  }
  void TearDown() override { ::unlink(file_.c_str()); }
  Admission admit(const std::string& token, Scope scope) {
    return tokens_->admit({"a test", "127.0.0.1:1", scope}, token.empty() ? "" : "Bearer " + token);
  }

  const std::string file_ = path_of("file");
  std::shared_ptr<Tokens> tokens_;
};

TEST_F(TokensTest, LetInWhoseTokenHasTheScope) {
  for (size_t i = 0; i < kScopeNames.size(); ++i) {
    const auto scope = static_cast<Scope>(i);
    EXPECT_FALSE(admit(kAll, scope).why_not);
    EXPECT_EQ(!admit(kReader, scope).why_not, scope == Scope::kQuery) << kScopeNames[i];
    EXPECT_EQ(!admit(kSender, scope).why_not, scope == Scope::kIngest || scope == Scope::kAgent) << kScopeNames[i];
    EXPECT_TRUE(admit(std::string(32, 'x'), scope).why_not);
    EXPECT_TRUE(admit("", scope).why_not);
  }
}

TEST_F(TokensTest, SayWhoCameAndWhatIsMissing) {
  EXPECT_EQ(admit(kReader, Scope::kQuery).token_name, "ann");
  EXPECT_EQ(admit(kAll, Scope::kQuery).token_name, "unnamed");
  const Admission refused = admit(kReader, Scope::kControl);
  EXPECT_TRUE(refused.is_known());
  EXPECT_EQ(*refused.why_not, "the token 'ann' has the scopes query; this needs control");
  EXPECT_FALSE(admit(std::string(32, 'x'), Scope::kQuery).is_known());
}

TEST(TokenFile, IsMadeOnceAndForItsOwnerAlone) {
  const std::string file = path_of("made");
  ASSERT_TRUE(make_token_file(file).ok());
  const auto made = read_tokens(file);
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made->size(), 1U);
  EXPECT_EQ(made->front().text.size(), 64U);
  EXPECT_EQ(made->front().scopes, Scopes::all());
  struct stat about {};
  ASSERT_EQ(::stat(file.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600U);
  ASSERT_TRUE(make_token_file(file).ok());
  EXPECT_EQ(*read_tokens(file), *made) << "the one that is there stays";
  ::unlink(file.c_str());
  ASSERT_TRUE(make_token_file(file).ok());
  EXPECT_NE(*read_tokens(file), *made);
  ::unlink(file.c_str());
}

TEST(TokenFile, WhatCannotBeMadeIsNamed) {
  const Result<> made = make_token_file("/nowhere/at/all/token");
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("'/nowhere/at/all/token'"), std::string::npos);
}

}  // namespace
}  // namespace fathom::net
