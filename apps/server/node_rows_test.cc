#include "apps/server/node_rows.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(NodeRows, SayWhatAMissingCaptureMeans) {
  collector::NodeRegistry registry;
  ingest::Hello hello{.host_name = "db-1", .reports_skipped_captures = true, .slowest_period_nano = 5};
  hello.node_id.bytes[0] = 1;
  registry.attach(hello, [] {});
  hello = {.host_name = "db-2", .captures_off = true};
  hello.node_id.bytes[0] = 2;
  registry.attach(hello, [] {});
  const std::vector<query::NodeRow> rows = node_rows(registry);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].host_name, "db-1");
  EXPECT_FALSE(rows[0].captures_off);
  EXPECT_TRUE(rows[0].reports_skipped_captures);
  EXPECT_EQ(rows[0].slowest_period_nano, 5u);
  EXPECT_EQ(rows[0].agent_since_unix_nano, registry.nodes()[0].agent_since_unix_nano);
  EXPECT_NE(rows[0].agent_since_unix_nano, 0u);
  EXPECT_TRUE(rows[1].captures_off);
  EXPECT_FALSE(rows[1].reports_skipped_captures);
}

}  // namespace
}  // namespace fathom
