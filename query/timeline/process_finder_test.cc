#include "query/timeline/process_finder.h"

#include <gtest/gtest.h>

namespace fathom::query {
namespace {

std::vector<TimelineProcess> captured_on(std::vector<std::string> hosts) {
  std::vector<TimelineProcess> processes;
  for (const std::string& host : hosts) {
    processes.push_back({.host_name = host, .service = "checkout", .pid = 7, .captures = {processes.size()}});
  }
  return processes;
}

TEST(ProcessFinder, TheHostDecides) {
  auto processes = captured_on({"shop-1", "shop-2"});
  ProcessFinder finder(processes);
  EXPECT_EQ(finder.find_or_make({"checkout", "shop-2", "7", ""}), 1u);
  EXPECT_EQ(finder.find_or_make({"checkout", "shop-1", "7", "b"}), 0u);
}

TEST(ProcessFinder, AProcessOfAnotherKnownHostIsNotThatOfThisOne) {
  auto processes = captured_on({"shop-1"});
  processes.push_back({.host_name = "shop-2", .service = "stock", .pid = 9});
  ProcessFinder finder(processes);
  EXPECT_EQ(finder.find_or_make({"checkout", "shop-2", "7", ""}), 2u) << "it would get shop-1's clock";
  ASSERT_EQ(processes.size(), 3u);
  EXPECT_EQ(processes[2].host_name, "shop-2");
  EXPECT_EQ(processes[2].pid, 7u);
  EXPECT_EQ(finder.find_or_make({"checkout", "shop-2", "7", "again"}), 2u);
}

TEST(ProcessFinder, AHostThatNobodyKnowsMayBeAContainers) {
  auto processes = captured_on({"shop-1"});
  ProcessFinder finder(processes);
  EXPECT_EQ(finder.find_or_make({"checkout", "3f2a9c", "7", ""}), 0u);
  EXPECT_EQ(finder.find_or_make({"checkout", "", "7", ""}), 0u);
  EXPECT_EQ(finder.find_or_make({"checkout", "", "8", ""}), 1u) << "but not another process";
}

TEST(ProcessFinder, WhatAnAgentSaysDecidesAlone) {
  const store::NodeId node{{1}}, other_node{{2}};
  auto processes = captured_on({"shop-1", "shop-2"});
  processes[0].node_id = node;
  processes[1].node_id = other_node;
  ProcessFinder finder(processes);
  EXPECT_EQ(finder.find_or_make({"checkout", "3f2a9c", "1", "", other_node, 7}), 1u);
  EXPECT_EQ(finder.find_or_make({"renamed", "shop-1", "7", "", other_node, 7}), 1u);
  EXPECT_EQ(finder.find_or_make({"checkout", "shop-1", "7", "", node, 8}), 2u) << "its words are those of another";
  ASSERT_EQ(processes.size(), 3u);
  EXPECT_EQ(processes[2].node_id, node);
  EXPECT_EQ(processes[2].pid, 8u);
  EXPECT_EQ(finder.find_or_make({"checkout", "", "1", "", node, 8}), 2u);
}

TEST(ProcessFinder, AProcessWithoutCapturesIsKnownByItsWordsToo) {
  std::vector<TimelineProcess> processes;
  ProcessFinder finder(processes);
  const Origin words{"checkout", "3f2a9c", "1", ""}, others{"stock", "77aa", "1", ""};
  Origin named = words, other_named = others;
  named.node_id = other_named.node_id = store::NodeId{{1}};
  named.node_pid = 8;
  other_named.node_pid = 9;
  EXPECT_EQ(finder.find_or_make(words), 0u);
  EXPECT_EQ(finder.find_or_make(named), 0u);
  EXPECT_EQ(finder.find_or_make(other_named), 1u);
  EXPECT_EQ(finder.find_or_make(others), 1u);
  EXPECT_EQ(processes.at(0).pid, 8u);
}

TEST(ProcessFinder, OfSeveralNoneIsGuessed) {
  auto processes = captured_on({"shop-1", "shop-2"});
  ProcessFinder finder(processes);
  EXPECT_EQ(finder.find_or_make({"checkout", "3f2a9c", "7", ""}), 2u);
  EXPECT_EQ(finder.find_or_make({"checkout", "", "7", ""}), 3u);
}

}  // namespace
}  // namespace fathom::query
