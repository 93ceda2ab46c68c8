#include "collector/agents/node_losses.h"

#include <gtest/gtest.h>

#include "base/metrics.h"
#include "collector/testing/requests.h"

namespace fathom::collector {
namespace {

using testing::counted;

uint64_t lost(const char* kind, const char* reason) {
  return counted("fathom_lost_on_nodes_total", std::string("kind=\"") + kind + "\",reason=\"" + reason + "\"");
}

ingest::InstanceId instance(uint8_t number) {
  ingest::InstanceId id;
  id.bytes[0] = number;
  return id;
}

class NodeLossesTest : public ::testing::Test {
 protected:
  NodeLosses losses_;
  const uint64_t pool_full_ = lost("spans", "pool_full");
  const uint64_t cut_ = lost("details", "value_cut");
  const uint64_t other_ = lost("other", "other");
};

TEST_F(NodeLossesTest, ReportsOfAnAgentAddWhatIsNew) {
  losses_.begin(instance(1));
  losses_.take({{"pool_full", 10}, {"value_cut", 3}});
  losses_.take({{"pool_full", 10}});
  losses_.begin(instance(1));  // the same agent, over a new stream
  losses_.take({{"pool_full", 12}, {"value_cut", 3}});
  EXPECT_EQ(lost("spans", "pool_full"), pool_full_ + 12);
  EXPECT_EQ(lost("details", "value_cut"), cut_ + 3);
}

TEST_F(NodeLossesTest, AnAgentThatWasStartedAgainCountsAnew) {
  losses_.begin(instance(1));
  losses_.take({{"pool_full", 10}});
  losses_.begin(instance(2));
  losses_.take({{"pool_full", 4}});
  EXPECT_EQ(lost("spans", "pool_full"), pool_full_ + 14);
}

TEST_F(NodeLossesTest, CountsThatGoBackAndForthAreCountedOnce) {
  losses_.begin(instance(1));
  for (uint64_t count : {10, 0, 10, 3, 11}) losses_.take({{"pool_full", count}});
  EXPECT_EQ(lost("spans", "pool_full"), pool_full_ + 11);
}

TEST_F(NodeLossesTest, ReasonsOfLaterAgentsAreOne) {
  losses_.begin(instance(1));
  losses_.take({{"meteor", 2}, {"flood\n", 3}});
  EXPECT_EQ(lost("other", "other"), other_ + 5);
  losses_.take({{"meteor", UINT64_MAX}, {"flood\n", UINT64_MAX}});
  EXPECT_EQ(lost("other", "other"), other_ + UINT64_MAX) << "and do not overflow";
  EXPECT_EQ(render_metrics().find("meteor"), std::string::npos);
}

TEST_F(NodeLossesTest, RemarksAreRareAndLeaveNothingOut) {
  losses_.begin(instance(1));
  EXPECT_EQ(losses_.remark(1000), std::nullopt);
  losses_.take({{"pool_full", 10}, {"refused", 2}});
  EXPECT_EQ(losses_.remark(1000), "pool_full 10, refused 2");
  losses_.take({{"pool_full", 11}, {"refused", 2}});
  EXPECT_EQ(losses_.remark(1000 + NodeLosses::kRemarkPauseNano - 1), std::nullopt);
  losses_.begin(instance(2));
  losses_.take({{"pool_full", 5}});
  EXPECT_EQ(losses_.remark(1000 + NodeLosses::kRemarkPauseNano), "pool_full 6");
  EXPECT_EQ(losses_.remark(1000 + 2 * NodeLosses::kRemarkPauseNano), std::nullopt) << "nothing new";
  losses_.take({{"pool_full", 6}});
  EXPECT_EQ(losses_.remark(5), "pool_full 1") << "a clock that was set back";
}

}  // namespace
}  // namespace fathom::collector
