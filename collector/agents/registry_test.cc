#include "collector/agents/registry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "collector/testing/requests.h"

namespace fathom::collector {
namespace {

using testing::counted;

ingest::Hello hello_of(uint8_t node) {
  ingest::Hello hello;
  hello.node_id.bytes[0] = node;
  hello.instance_id.bytes[0] = 1;
  hello.host_name = std::string(1, static_cast<char>('z' - node));
  return hello;
}

class NodeRegistryTest : public ::testing::Test {
 protected:
  std::vector<std::string> hosts() {
    std::vector<std::string> names;
    for (const Node& node : registry_.nodes()) names.push_back(node.host_name);
    return names;
  }
  uint64_t attach(uint8_t node) {
    return registry_.attach(hello_of(node), [] {});
  }

  uint64_t now_ = kNanosPerHour;
  uint64_t step_ = 0;  // of the wall clock
  NodeRegistry registry_{
      {.max_nodes = 3, .forget_after_nano = kNanosPerHour}, [this] { return now_ + step_; }, [this] { return now_; }};
};

TEST_F(NodeRegistryTest, ListsByHostAndRemembersWhen) {
  uint64_t first = attach(1);
  now_ += 5;
  attach(2);
  EXPECT_EQ(hosts(), (std::vector<std::string>{"x", "y"}));
  registry_.heard(first);
  Node node = registry_.nodes()[1];
  EXPECT_EQ(node.first_seen_unix_nano, kNanosPerHour);
  EXPECT_EQ(node.last_seen_unix_nano, kNanosPerHour + 5);
  EXPECT_TRUE(node.connected);
}

TEST_F(NodeRegistryTest, WhatTheLastHelloSaysOfCapturesCounts) {
  ingest::Hello hello = hello_of(1);
  hello.reports_skipped_captures = true;
  hello.slowest_period_nano = kNanosPerMinute;
  registry_.detach(registry_.attach(hello, [] {}));
  Node node = registry_.nodes().at(0);
  EXPECT_FALSE(node.captures_off);
  EXPECT_TRUE(node.reports_skipped_captures) << "also when it is not connected";
  EXPECT_EQ(node.slowest_period_nano, kNanosPerMinute);
  hello = hello_of(1);
  hello.captures_off = true;
  registry_.attach(hello, [] {});
  node = registry_.nodes().at(0);
  EXPECT_TRUE(node.captures_off);
  EXPECT_FALSE(node.reports_skipped_captures);
  EXPECT_EQ(node.slowest_period_nano, 0u);
}

TEST_F(NodeRegistryTest, KnowsSinceWhenAnAgentRuns) {
  const auto since = [&] { return registry_.nodes().at(0).agent_since_unix_nano; };
  registry_.detach(attach(1));
  EXPECT_EQ(since(), kNanosPerHour);
  now_ += 5;
  registry_.detach(attach(1));
  EXPECT_EQ(since(), kNanosPerHour) << "it only lost its connection";
  now_ += 5;
  ingest::Hello restarted = hello_of(1);
  restarted.instance_id.bytes[0] = 2;
  registry_.attach(restarted, [] {});
  EXPECT_EQ(since(), kNanosPerHour + 10);
}

TEST_F(NodeRegistryTest, SilentNodesAreForgottenAfterAWhile) {
  uint64_t first = attach(1);
  attach(2);
  registry_.detach(first);
  now_ += kNanosPerHour;
  EXPECT_EQ(hosts().size(), 2u);
  now_ += 1;
  EXPECT_EQ(hosts(), std::vector<std::string>{"x"}) << "who is connected stays";
}

TEST_F(NodeRegistryTest, AStepOfTheWallClockForgetsNoNode) {
  registry_.detach(attach(1));
  step_ = 200 * kNanosPerHour;
  EXPECT_EQ(hosts().size(), 1u);
  registry_.detach(attach(2));
  step_ = 0;
  now_ += kNanosPerHour + 1;
  EXPECT_EQ(hosts().size(), 0u);
}

TEST_F(NodeRegistryTest, BeyondTheLimitTheLongestSilentGoes) {
  uint64_t forgotten = counted("fathom_lost_nodes_total", "reason=\"forgotten\"");
  uint64_t not_listed = counted("fathom_lost_nodes_total", "reason=\"not_listed\"");
  uint64_t first = attach(1), second = attach(2);
  attach(3);
  registry_.detach(second);
  now_ += 1;
  registry_.detach(first);
  attach(4);
  EXPECT_EQ(hosts(), (std::vector<std::string>{"v", "w", "y"}));
  EXPECT_EQ(counted("fathom_lost_nodes_total", "reason=\"forgotten\""), forgotten + 1);
  attach(5);
  uint64_t unlisted = attach(6);
  EXPECT_EQ(hosts(), (std::vector<std::string>{"u", "v", "w"}));
  EXPECT_EQ(counted("fathom_lost_nodes_total", "reason=\"not_listed\""), not_listed + 1);
  registry_.heard(unlisted, {});
  registry_.detach(unlisted);
  EXPECT_EQ(hosts().size(), 3u);
}

TEST_F(NodeRegistryTest, LossesAreCountedAndLogged) {
  uint64_t before = counted("fathom_lost_on_nodes_total", "kind=\"spans\",reason=\"refused\"");
  ingest::Hello hello = hello_of(1);
  hello.host_name = "x\ny";
  uint64_t stream = registry_.attach(hello, [] {});
  ::testing::internal::CaptureStderr();
  for (uint64_t refused : {3, 3, 5}) {
    ingest::NodeStatus report;
    report.losses = {{"refused", refused}};
    registry_.heard(stream, report);
  }
  now_ += NodeLosses::kRemarkPauseNano;
  ingest::NodeStatus report;
  report.losses = {{"refused", 5}};
  registry_.heard(stream, report);
  registry_.heard(stream, report);
  std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(counted("fathom_lost_on_nodes_total", "kind=\"spans\",reason=\"refused\""), before + 5);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
  size_t first = log.find("warning node x?y (01000000000000000000000000000000) lost refused 3\n");
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_NE(log.find(" lost refused 2\n", first), std::string::npos) << log;
}

TEST_F(NodeRegistryTest, AReplacedStreamHasNoSayAnyMore) {
  int replaced = 0;
  uint64_t old = registry_.attach(hello_of(1), [&] { ++replaced; });
  uint64_t current = attach(1);
  EXPECT_EQ(replaced, 1);
  ingest::NodeStatus report;
  report.programs = 9;
  registry_.heard(old, report);
  registry_.detach(old);
  EXPECT_TRUE(registry_.nodes()[0].connected);
  EXPECT_EQ(registry_.nodes()[0].report.programs, 0u);
  registry_.heard(current, report);
  registry_.detach(current);
  EXPECT_FALSE(registry_.nodes()[0].connected);
  EXPECT_EQ(registry_.nodes()[0].report.programs, 9u) << "what it said last is still shown";
  attach(1);
  EXPECT_EQ(replaced, 1);
}

}  // namespace
}  // namespace fathom::collector
