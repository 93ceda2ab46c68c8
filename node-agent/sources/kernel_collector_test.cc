#include "node-agent/sources/kernel_collector.h"

#include <gtest/gtest.h>

namespace fathom::agent {
namespace {

TEST(KernelCollector, OfAnInterruptTheNameOfWhoRanIsKept) {
  KernelSnapshot snapshot;
  snapshot.threads = {{.pid = 42, .tid = 9, .name = "worker"}, {.pid = 42, .tid = 10, .name = "holder"}};
  KernelEvent wake{.kind = KernelEventKind::kWake, .pid = 42, .tid = 9};
  for (auto [tid, name] : {std::pair{10, "before"}, {0, "cc1plus"}, {0, ""}}) {
    wake.other_pid = tid == 0 ? 0 : 42;
    wake.other_tid = tid;
    wake.name = name;
    ++wake.monotonic_nano;
    snapshot.events.push_back(wake);
  }
  ThreadTable threads({}, 10);
  EXPECT_EQ(collect_kernel_events(snapshot, 42, threads), 0u);
  const std::vector<capture::Thread> made = threads.take([](uint32_t) { return false; });
  ASSERT_EQ(made.size(), 1u);
  ASSERT_EQ(made[0].kernel_events.size(), 3u);
  EXPECT_EQ(made[0].kernel_events[0].other_name, "holder") << "what it is called now";
  EXPECT_EQ(made[0].kernel_events[1].other_name, "cc1plus");
  EXPECT_EQ(made[0].kernel_events[1].other_tid, 0);
  EXPECT_EQ(made[0].kernel_events[2].other_name, "");
}

}  // namespace
}  // namespace fathom::agent
