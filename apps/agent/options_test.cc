#include "apps/agent/options.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

Result<AgentProgramOptions> options_of(const std::vector<std::string>& words, const AgentEnvironment& environment) {
  Result<cli::Args> args = cli::parse_args(agent_command_line(), words);
  if (!args) return args.error();
  return agent_options(*args, environment);
}

TEST(AgentOptions, DefaultsOfRoot) {
  Result<AgentProgramOptions> options = options_of({}, {.root = true, .home = "/home/someone"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->agent_socket, "/run/fathom/agent.sock");
  EXPECT_EQ(options->state_directory, "/var/lib/fathom-agent");
  EXPECT_EQ(options->collector, "127.0.0.1:7072");
  EXPECT_TRUE(options->node_name.empty());
  EXPECT_EQ(options->spool_limit_bytes, uint64_t{256} << 20);
  EXPECT_TRUE(options->http_address.empty());
  EXPECT_FALSE(options->ready_fd);
  EXPECT_TRUE(options->captures);
  EXPECT_EQ(options->kernel_events, "scheduling");
  EXPECT_EQ(options->capture_budget_bytes, uint64_t{16} << 20);
  EXPECT_FALSE(options->overdue_after_nano);
  EXPECT_FALSE(options->pt);
}

TEST(AgentOptions, DefaultsOfOthers) {
  AgentEnvironment environment{.xdg_runtime_dir = "/run/user/7", .home = "/home/someone"};
  Result<AgentProgramOptions> options = options_of({}, environment);
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->agent_socket, "/run/user/7/fathom/agent.sock");
  EXPECT_EQ(options->state_directory, "/home/someone/.local/state/fathom-agent");
  environment.agent_socket = "/tmp/told.sock";
  environment.xdg_state_home = "/state";
  options = options_of({}, environment);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->agent_socket, "/tmp/told.sock");
  EXPECT_EQ(options->state_directory, "/state/fathom-agent");
}

TEST(AgentOptions, WithoutAPlaceItMustBeNamed) {
  Result<AgentProgramOptions> options = options_of({}, {.home = "/home/someone"});
  ASSERT_FALSE(options.ok());
  EXPECT_NE(options.error().message.find("--agent-socket"), std::string::npos);
  options = options_of({"--agent-socket=/tmp/a"}, {.xdg_state_home = "relative"});
  ASSERT_FALSE(options.ok());
  EXPECT_NE(options.error().message.find("--state"), std::string::npos);
}

TEST(AgentOptions, EveryFlagReachesItsPart) {
  Result<AgentProgramOptions> options =
      options_of({"--agent-socket=/tmp/a", "--collector=h:1", "--state=/s", "--node-name=shop-1", "--spool-limit=1MiB",
                  "--http=127.0.0.1:0", "--ready-fd=3", "--kernel-events=traced", "--capture-budget=2MiB",
                  "--kernel-events-memory=8MiB", "--slowest-period=10s", "--slowest-memory=2MiB",
                  "--overdue-after=250ms", "--no-captures"},
                 {});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->agent_socket, "/tmp/a");
  EXPECT_EQ(options->collector, "h:1");
  EXPECT_EQ(options->node_name, "shop-1");
  EXPECT_EQ(options->state_directory, "/s");
  EXPECT_EQ(options->spool_limit_bytes, uint64_t{1} << 20);
  EXPECT_EQ(options->http_address, "127.0.0.1:0");
  EXPECT_EQ(options->ready_fd, 3);
  EXPECT_FALSE(options->captures);
  EXPECT_EQ(options->kernel_events, "traced");
  EXPECT_EQ(options->capture_budget_bytes, uint64_t{2} << 20);
  EXPECT_EQ(options->kernel_events_bytes, uint64_t{8} << 20);
  EXPECT_EQ(options->slowest_period_nano, 10'000'000'000u);
  EXPECT_EQ(options->slowest_bytes, uint64_t{2} << 20);
  EXPECT_EQ(options->overdue_after_nano, 250'000'000u);
}

TEST(AgentOptions, OfIntelPt) {
  Result<AgentProgramOptions> options = options_of({"--pt"}, {.root = true});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_TRUE(options->pt);
  EXPECT_EQ(options->pt_buffer_bytes, uint64_t{16} << 20);
  EXPECT_EQ(options->pt_window_nano, 50'000'000u);
  EXPECT_EQ(options->pt_spool_bytes, uint64_t{1} << 30);
  EXPECT_FALSE(options->pt_all_users);
  EXPECT_FALSE(options->pt_private_images);
  options = options_of(
      {"--pt", "--pt-buffer-mib=64", "--pt-window=10ms", "--pt-symbol=/usr/bin/shop:checkout", "--pt-spool=2MiB"},
      {.root = true});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->pt_buffer_bytes, uint64_t{64} << 20);
  EXPECT_EQ(options->pt_window_nano, 10'000'000u);
  EXPECT_EQ(options->pt_symbol, "/usr/bin/shop:checkout");
  EXPECT_EQ(options->pt_spool_bytes, uint64_t{2} << 20);
  options = options_of({"--pt", "--pt-all-users"}, {.root = true});
  EXPECT_TRUE(options->pt_all_users && !options->pt_private_images);
  options = options_of({"--pt", "--pt-private-images"}, {.root = true});
  EXPECT_TRUE(!options->pt_all_users && options->pt_private_images);
  EXPECT_FALSE(options_of({"--pt", "--no-captures"}, {.root = true}).ok());
}

TEST(AgentOptions, TlsAndTokensTowardsTheCollector) {
  Result<AgentProgramOptions> options =
      options_of({"--collector=h:1", "--collector-ca=/ca", "--collector-certificate=/c", "--collector-key=/k",
                  "--collector-token-file=/t"},
                 {.root = true});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_TRUE(options->collector_tls);
  EXPECT_EQ(options->collector_security.ca, "/ca");
  EXPECT_EQ(options->collector_security.certificate, "/c");
  EXPECT_EQ(options->collector_security.key, "/k");
  EXPECT_EQ(options->collector_security.token_file, "/t");
  EXPECT_EQ(options->collector_security.flags, "--collector-");
  EXPECT_FALSE(options_of({}, {.root = true})->collector_tls);
  EXPECT_TRUE(options_of({"--collector-tls"}, {.root = true})->collector_tls);
  EXPECT_TRUE(options_of({"--collector-token-file=/t"}, {.root = true}).ok()) << "within this host";
  options = options_of({"--collector=h:1", "--collector-token-file=/t"}, {.root = true});
  ASSERT_FALSE(options.ok());
  EXPECT_NE(options.error().message.find("to h:1 in the clear"), std::string::npos);
}

TEST(AgentOptions, RedactionRulesMayRepeat) {
  const auto options =
      options_of({"--redact=hash key user.*", "--redact=mask value [0-9]{16}", "--redact-key-file=/k"}, {.root = true});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->redact, (std::vector<std::string>{"hash key user.*", "mask value [0-9]{16}"}));
  EXPECT_EQ(options->redact_key_file, "/k");
}

TEST(AgentOptions, WrongValuesNameTheirFlag) {
  for (const char* word : {"--collector=nowhere", "--spool-limit=lots", "--http=x", "--ready-fd=0",
                           "--kernel-events=all", "--capture-budget=65MiB", "--kernel-events-memory=1GiB",
                           "--slowest-period=2h", "--slowest-memory=1KiB", "--overdue-after=0s", "--pt-buffer-mib=20",
                           "--pt-window=6s", "--pt-symbol=a:b", "--pt-spool=lots", "--redact=hide key x"}) {
    Result<AgentProgramOptions> options = options_of({word}, {.root = true});
    ASSERT_FALSE(options.ok()) << word;
    std::string flag(word, std::string_view(word).find('='));
    EXPECT_NE(options.error().message.find(flag), std::string::npos) << options.error().message;
  }
}

}  // namespace
}  // namespace fathom
