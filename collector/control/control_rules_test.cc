// The rules of tracepoints, from a person's request to every node.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "base/testing/temp_directory.h"
#include "collector/control/control_loop.h"
#include "collector/testing/fake_nodes.h"

namespace fathom::collector {
namespace {

using namespace testing;

class ControlRulesTest : public ::testing::Test {
 protected:
  ControlRulesTest() {
    options_.rules_directory = directory_;
    options_.now_monotonic_nano = [this] { return monotonic_; };
    start();
  }

  void start() { loop_ = std::make_unique<ControlLoop>(options_, nodes_, learner_); }
  void connect(char node) {
    nodes_.connect(node);
    loop_->node_connected(node_id(node));
  }
  // What the node was told last.
  std::string told(char node) {
    std::vector<std::string> rules = nodes_.take_rules(node);
    return rules.empty() ? "nothing" : rules.back();
  }
  // The answers gather in answers_.
  void ask(TracepointRequest request) {
    loop_->tracepoints(std::move(request), [this](auto replies) { answers_.push_back(std::move(replies)); });
  }
  void enable(const std::string& pattern, const std::string& service = "") {
    ask({.action = TracepointAction::kEnable, .patterns = {pattern}, .service = service});
  }
  void disable(const std::string& pattern) { ask({.action = TracepointAction::kDisable, .patterns = {pattern}}); }

  TempDirectory scratch_;
  const std::string directory_ = scratch_.path();
  uint64_t monotonic_ = 1000 * kNanosPerSecond;
  ControlOptions options_;
  FakeNodes nodes_;
  ThresholdLearner learner_{{}};
  std::unique_ptr<ControlLoop> loop_;
  std::vector<Result<Replies<TracepointAnswer>>> answers_;
};

TEST_F(ControlRulesTest, ANodeThatConnectsLaterIsToldAll) {
  connect('a');
  EXPECT_EQ(told('a'), "") << "none: what another server said is void";
  enable("cache.*", "shop");
  disable("cache.hit");
  EXPECT_EQ(told('a'), "+cache.*@shop,-cache.hit");
  connect('b');
  EXPECT_EQ(told('b'), "+cache.*@shop,-cache.hit");
  EXPECT_EQ(told('a'), "nothing") << "it knows them";
  connect('a');
  EXPECT_EQ(told('a'), "+cache.*@shop,-cache.hit") << "over a new stream it may be another agent";
}

TEST_F(ControlRulesTest, RulesComeBeforeTheRequestThatIsAnswered) {
  bool knew = false;
  nodes_.on_send = [&](const NodeId&, const auto& message) {
    if (message.has_tracepoint_request()) knew = told('a') == "+x";
  };
  connect('a');
  enable("x");
  EXPECT_TRUE(knew);
}

TEST_F(ControlRulesTest, WhoCouldNotBeToldIsToldLater) {
  connect('a');
  nodes_.refuse('a');
  enable("x");
  nodes_.accept('a');
  nodes_.take_rules('a');
  loop_->run_due();
  EXPECT_EQ(told('a'), "+x");
  monotonic_ += 5 * kNanosPerSecond;
  loop_->run_due();
  EXPECT_EQ(told('a'), "nothing");
  nodes_.connect('a');  // and what the streams say is lost
  monotonic_ += 5 * kNanosPerSecond;
  loop_->run_due();
  EXPECT_EQ(told('a'), "+x");
}

TEST_F(ControlRulesTest, TheySurviveARestart) {
  enable("cache.*");
  disable("pay");
  start();
  connect('a');
  EXPECT_EQ(told('a'), "+cache.*,-pay");
}

TEST_F(ControlRulesTest, WithoutNodesTheyAreKeptForThoseToCome) {
  enable("x");
  ASSERT_EQ(answers_.size(), 1u);
  ASSERT_TRUE(answers_[0].ok());
  EXPECT_TRUE(answers_[0]->nodes.empty());
  ask({});
  EXPECT_EQ(answers_[1].error().code, ErrorCode::kUnavailable) << "a list";
  connect('a');
  EXPECT_EQ(told('a'), "+x");
}

TEST_F(ControlRulesTest, WhereTooManyRequestsWaitTheyAreMadeAllTheSame) {
  connect('a');
  for (int i = 0; i < 8; ++i) ask({});
  enable("x");
  ASSERT_EQ(answers_.size(), 1u);
  ASSERT_TRUE(answers_[0].ok()) << answers_[0].error().message;
  ASSERT_EQ(answers_[0]->nodes.size(), 1u);
  EXPECT_FALSE(answers_[0]->nodes[0].answer);
  EXPECT_NE(answers_[0]->nodes[0].failure.find("told the rule"), std::string::npos) << answers_[0]->nodes[0].failure;
  EXPECT_EQ(told('a'), "+x");
  ask({.action = TracepointAction::kEnable, .patterns = {"y"}, .pid = 7});
  EXPECT_EQ(answers_.at(1).error().code, ErrorCode::kUnavailable) << "of one process there is no rule";
}

TEST_F(ControlRulesTest, OfOneNodeAndOfOneProcess) {
  connect('a');
  connect('b');
  ask({.action = TracepointAction::kEnable, .patterns = {"x"}, .node_id = node_id('a')});
  EXPECT_EQ(told('a'), "+x");
  EXPECT_EQ(told('b'), "");
  ask({.action = TracepointAction::kEnable, .patterns = {"y"}, .pid = 7, .node_id = node_id('a')});
  ask({.action = TracepointAction::kEnable, .patterns = {"z"}, .node_id = node_id('c')});
  EXPECT_EQ(answers_.back().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(loop_->tracepoint_rules().size(), 1u);
}

TEST_F(ControlRulesTest, WhatCannotBeKeptIsNotSwitched) {
  connect('a');
  nodes_.take_rules('a');
  std::filesystem::remove_all(directory_);
  enable("x");
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_FALSE(answers_[0].ok());
  EXPECT_EQ(told('a'), "nothing");
  for (const auto& message : nodes_.take('a')) EXPECT_FALSE(message.has_tracepoint_request());
  EXPECT_TRUE(loop_->tracepoint_rules().empty());
}

TEST_F(ControlRulesTest, ADamagedFileEndsNoServer) {
  enable("x");
  std::filesystem::resize_file(directory_ + "/tracepoint-rules", 12);
  start();
  connect('a');
  EXPECT_EQ(told('a'), "");
  enable("y");
  EXPECT_EQ(told('a'), "+y");
  EXPECT_EQ(std::filesystem::file_size(directory_ + "/tracepoint-rules.damaged"), 12u) << "a person may look at it";
  start();
  connect('b');
  EXPECT_EQ(told('b'), "+y");
}

}  // namespace
}  // namespace fathom::collector
