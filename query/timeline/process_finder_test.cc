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

TEST(ProcessFinder, OfSeveralNoneIsGuessed) {
  auto processes = captured_on({"shop-1", "shop-2"});
  ProcessFinder finder(processes);
  EXPECT_EQ(finder.find_or_make({"checkout", "3f2a9c", "7", ""}), 2u);
  EXPECT_EQ(finder.find_or_make({"checkout", "", "7", ""}), 3u);
}

}  // namespace
}  // namespace fathom::query
