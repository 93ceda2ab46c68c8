#include "apps/server/node_control.h"

#include <gtest/gtest.h>

#include <future>

#include "base/time.h"
#include "collector/testing/fake_nodes.h"

namespace fathom {
namespace {

using collector::ConnectedNode;
using collector::NodeId;

NodeId node_id(uint8_t first, uint8_t rest) {
  NodeId id;
  id.bytes.fill(rest);
  id.bytes[0] = first;
  return id;
}

TEST(FindNode, ByHostNameOrTheFirstDigitsOfItsId) {
  std::vector<ConnectedNode> nodes{{node_id(0xaa, 1), "db-1"}, {node_id(0xaa, 2), "db-2"}, {node_id(0xbb, 1), "db-2"}};
  EXPECT_EQ(*find_node(nodes, "db-1"), nodes[0].node_id);
  EXPECT_EQ(*find_node(nodes, "aa02"), nodes[1].node_id);
  EXPECT_EQ(*find_node(nodes, nodes[2].node_id.hex()), nodes[2].node_id);
  EXPECT_EQ(find_node(nodes, "db-2").error().code, ErrorCode::kInvalid);
  for (const char* nobody : {"aa", "db", "cccc", ""}) {
    EXPECT_EQ(find_node(nodes, nobody).error().code, ErrorCode::kNotFound) << nobody;
  }
}

// The nodes 'a', which answers all that it is asked, and 'b', which takes no requests.
class NodeControlTest : public ::testing::Test {
 protected:
  NodeControlTest() {
    nodes_->connect('a');
    nodes_->connect('b');
    nodes_->refuse('b');
    nodes_->on_send = [this](const NodeId& node, const auto& asked) { answer(node, asked); };
    router_->start(*nodes_, learner_);
  }
  ~NodeControlTest() override { router_->stop(); }

  void answer(const NodeId& node, const collector::testing::wire::CollectorMessage& asked) {
    if (asked.has_capture_request()) {
      asked_ = asked.capture_request();
      router_->answered(node, collector::CaptureAnswer{asked_.request_id(), {node_id(9, 9)}, "not all"});
    }
    if (!asked.has_tracepoint_request()) return;
    collector::TracepointAnswer answer{asked.tracepoint_request().request_id()};
    answer.programs.resize(2);
    for (auto& program : answer.programs) {
      program.service = "shop";
      program.tracepoints.assign(60'000, {"cache.miss", "a.cc", 3, asked.tracepoint_request().action() != 0});
    }
    router_->answered(node, std::move(answer));
  }
  Result<query::CaptureReplies> capture(const query::CaptureAsk& ask) {
    std::promise<Result<query::CaptureReplies>> promise;
    control_->capture(ask, [&](auto replies) { promise.set_value(std::move(replies)); });
    return promise.get_future().get();
  }

  collector::testing::wire::CaptureRequest asked_;
  collector::ThresholdLearner learner_{{}};
  std::shared_ptr<collector::testing::FakeNodes> nodes_ = std::make_shared<collector::testing::FakeNodes>();
  std::shared_ptr<collector::ControlRouter> router_ = std::make_shared<collector::ControlRouter>();
  std::shared_ptr<query::Control> control_ = make_node_control(router_, nodes_);
};

TEST_F(NodeControlTest, CapturesComeBackInTheQueryFacesWords) {
  Result<query::CaptureReplies> replies = capture({{.service = "shop", .duration_nano = 5, .reason = "why"}, ""});
  ASSERT_TRUE(replies.ok());
  ASSERT_EQ(replies->nodes.size(), 2u);
  EXPECT_EQ(replies->nodes[0].host_name, "host-a");
  EXPECT_EQ(replies->nodes[0].answer->capture_ids, std::vector{node_id(9, 9)});
  EXPECT_EQ(replies->nodes[0].answer->skipped, "not all");
  EXPECT_EQ(replies->nodes[0].failure, "");
  EXPECT_NE(replies->nodes[1].failure, "");
  EXPECT_EQ(asked_.service(), "shop");
  EXPECT_EQ(asked_.reason(), "why");
  EXPECT_EQ(asked_.duration_nano(), 5u);
  EXPECT_EQ(asked_.end_unix_nano(), 0u);
}

TEST_F(NodeControlTest, AWindowAheadIsGivenInTheServersTime) {
  uint64_t before = now_unix_nano();
  ASSERT_TRUE(capture({{.pid = 7, .duration_nano = 5'000'000'000}, "host-a", true}).ok());
  EXPECT_GE(asked_.start_unix_nano(), before);
  EXPECT_EQ(asked_.end_unix_nano(), asked_.start_unix_nano() + 5'000'000'000);
  EXPECT_EQ(asked_.node_id().size(), 16u);
}

TEST_F(NodeControlTest, ATracesWindowIsItsSpansUnlessItIsGiven) {
  query::CaptureAsk ask;
  ask.request.trace_id.bytes.fill(7);
  ASSERT_TRUE(capture(ask).ok());
  EXPECT_EQ(asked_.start_unix_nano(), 0u);
  EXPECT_EQ(asked_.end_unix_nano(), 0u);
  ask.request.duration_nano = 5;
  ASSERT_TRUE(capture(ask).ok());
  EXPECT_EQ(asked_.end_unix_nano(), asked_.start_unix_nano() + 5);
  EXPECT_LE(asked_.end_unix_nano(), now_unix_nano());
}

TEST_F(NodeControlTest, AnAnswerAboutTracepointsIsBounded) {
  std::promise<Result<query::TracepointReplies>> promise;
  control_->tracepoints({{.action = ingest::TracepointAction::kEnable, .patterns = {"*"}}, ""},
                        [&](auto replies) { promise.set_value(std::move(replies)); });
  Result<query::TracepointReplies> replies = promise.get_future().get();
  ASSERT_TRUE(replies.ok());
  const auto& programs = replies->nodes.at(0).answer->programs;
  ASSERT_EQ(programs.size(), 2u);
  EXPECT_EQ(programs[0].tracepoints.size(), 60'000u);
  EXPECT_TRUE(programs[0].tracepoints[0].on);
  EXPECT_FALSE(programs[0].truncated);
  EXPECT_EQ(programs[1].tracepoints.size(), 40'000u);
  EXPECT_TRUE(programs[1].truncated);
}

TEST_F(NodeControlTest, ANodeThatNobodyKnowsIsSaidSoAtOnce) {
  bool told = false;
  control_->capture({{.pid = 7}, "db-9"}, [&](const auto& replies) {
    told = true;
    EXPECT_EQ(replies.error().code, ErrorCode::kNotFound);
  });
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace fathom
