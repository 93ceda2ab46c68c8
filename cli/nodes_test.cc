#include <gtest/gtest.h>

#include "cli/testing/fake_context.h"

namespace fathom::cli {
namespace {

constexpr const char* kNodesAnswer =
    R"({"nodes":[{"node_id":"00ff00ff00ff00ff00ff00ff00ff00ff","host_name":"db-1","agent_version":"0.1.0",)"
    R"("connected":true,"first_seen_unix_nano":"1","last_seen_unix_nano":"1795226399000000000",)"
    R"("clock":{"offset_nano":-7200000000000,"error_nano":1200000,"measured_unix_nano":"3"},"programs":4,)"
    R"("acknowledged_spans":1234567,"spool_bytes":1048576,"spool_limit_bytes":7,"resident_bytes":8,)"
    R"("losses":[{"reason":"pool_full","count":1200},{"reason":"none","count":0},{"reason":"refused","count":2}]},)"
    R"({"node_id":"aa","host_name":"e\u001b[2J","agent_version":"0.2.0","connected":false,)"
    R"("last_seen_unix_nano":"1795226340000000000","clock":{"offset_nano":1500000,"error_nano":7},)"
    R"("losses":[]},{"host_name":"new"}]})";

TEST(Nodes, OneLineEach) {
  FakeWorld world;
  world.answer(200, kNodesAnswer);
  EXPECT_EQ(world.run({"nodes"}), ExitCode::kOk);
  EXPECT_EQ(world.targets.at(0), "/api/v1/nodes");
  EXPECT_EQ(world.err, "");
  EXPECT_EQ(
      world.out,
      "HOST      NODE      VERSION  STATE                  CLOCK                 PROGRAMS      SPANS    SPOOL  LOST\n"
      "db-1      00ff00ff  0.1.0    connected              -2 h 00 min ± 1.2 ms         4  1,234,567  1.0 MiB  "
      "pool_full 1,200, refused 2\n"
      "e\\x1b[2J  aa        0.2.0    away for 1 min 00 s    +1.5 ms ± 7 ns               0          0      0 B  -\n"
      "new                          away for 20778 d 02 h  unknown                      0          0      0 B  -\n");
}

TEST(Nodes, AllLossesAreListed) {
  FakeWorld world;
  std::string losses, listed;
  for (char reason = 'a'; reason <= 'z'; ++reason) {
    losses += std::string(losses.empty() ? "" : ",") + R"({"reason":"reason_)" + reason + R"(","count":1000})";
    listed += std::string(listed.empty() ? "" : ", ") + "reason_" + reason + " 1,000";
  }
  world.answer(200, R"({"nodes":[{"host_name":"db-1","losses":[)" + losses + "]}]}");
  EXPECT_EQ(world.run({"nodes"}), ExitCode::kOk);
  EXPECT_NE(world.out.find(listed + "\n"), std::string::npos) << world.out;
}

TEST(Nodes, JsonIsTheArray) {
  FakeWorld world;
  world.answer(200, kNodesAnswer);
  EXPECT_EQ(world.run({"nodes", "--format", "json"}), ExitCode::kOk);
  EXPECT_TRUE(world.out.starts_with("[\n{\"node_id\":\"00ff")) << world.out;
  EXPECT_NE(world.out.find("\"offset_nano\":-7200000000000"), std::string::npos);
  EXPECT_TRUE(world.out.ends_with("}\n]\n"));
}

TEST(Nodes, NoneIsSaidAndIsNoFailure) {
  FakeWorld world;
  world.answer(200, R"({"nodes":[]})");
  EXPECT_EQ(world.run({"nodes"}), ExitCode::kOk);
  EXPECT_EQ(world.out, "");
  EXPECT_TRUE(world.err.starts_with("no agent has said anything to this server since it was started: 'fathom up'"));
}

TEST(Nodes, NobodyAnswers) {
  FakeWorld world;
  EXPECT_EQ(world.run({"nodes"}), ExitCode::kUnreachable);
  EXPECT_EQ(world.run({"nodes", "--format", "xml"}), ExitCode::kUsage);
}

}  // namespace
}  // namespace fathom::cli
