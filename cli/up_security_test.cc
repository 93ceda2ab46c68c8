#include "cli/up_security.h"

#include <gtest/gtest.h>

#include "cli/command.h"

namespace fathom::cli {
namespace {

using Words = std::vector<std::string>;

const std::string kLocal = "127.0.0.1:7072";

Result<UpSecurity> security(const Words& words, const std::string& listens_at = kLocal) {
  auto args = parse_args(up_command().line, words);
  EXPECT_TRUE(args.ok()) << args.error().message;
  return up_security(*args, {listens_at});
}

std::string fault(const Words& words, const std::string& listens_at = kLocal) {
  auto got = security(words, listens_at);
  EXPECT_FALSE(got.ok());
  return got.ok() ? "" : got.error().message;
}

TEST(UpSecurity, NothingIsSaidWhereNothingIsAskedFor) {
  auto plain = security({});
  EXPECT_EQ(plain->server_words, Words{});
  EXPECT_EQ(plain->agent_words, Words{});
}

TEST(UpSecurity, TheServerTakesTheFlagsAndTheAgentIsLetIn) {
  auto got = security({"--tls-certificate", "/c", "--tls-key", "/k", "--token-file", "/t", "--collector-ca", "/ca"});
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->server_words, (Words{"--tls-certificate=/c", "--tls-key=/k", "--token-file=/t"}));
  EXPECT_EQ(got->agent_words, (Words{"--collector-ca=/ca", "--collector-tls", "--collector-token-file=/t"}));
}

TEST(UpSecurity, TheAgentsOwnListenerIsAsTheServers) {
  auto got = security({"--tls-certificate", "/c", "--tls-key", "/k", "--agent-http", "127.0.0.1:0"});
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->agent_words, (Words{"--collector-tls", "--tls-certificate=/c", "--tls-key=/k"}));
}

TEST(UpSecurity, ATokenOfItsOwnIsTheAgents) {
  auto got = security({"--token-file", "/t", "--collector-token-file", "/mine"});
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->agent_words, Words{"--collector-token-file=/mine"});
}

TEST(UpSecurity, WhatCannotBeNamesTheCure) {
  EXPECT_NE(fault({"--collector-ca", "/ca"}).find("--tls-certificate FILE"), std::string::npos);
  EXPECT_NE(fault({"--tls-certificate", "/c", "--tls-key", "/k", "--tls-client-ca", "/ca"})
                .find("--collector-certificate FILE --collector-key FILE"),
            std::string::npos);
  EXPECT_NE(fault({"--token-file", "/t"}, "0.0.0.0:7072").find("in the clear"), std::string::npos);
}

TEST(UpSecurity, TheAgentGoesByTheNameThatWasGiven) {
  EXPECT_EQ(address_for_agent("0.0.0.0:7072", "0.0.0.0:7072"), "127.0.0.1:7072");
  EXPECT_EQ(address_for_agent("[::]:0", "[::]:41000"), "127.0.0.1:41000");
  EXPECT_EQ(address_for_agent("traces.example:0", "10.0.0.1:41000"), "traces.example:41000");
  EXPECT_EQ(address_for_agent("127.0.0.1:0", "127.0.0.1:5"), "127.0.0.1:5");
}

}  // namespace
}  // namespace fathom::cli
