#include "node-agent/kernel/kernel_availability.h"

#include <gtest/gtest.h>
#include <linux/capability.h>

namespace fathom::agent {
namespace {

constexpr uint64_t kBoth = (uint64_t{1} << CAP_BPF) | (uint64_t{1} << CAP_PERFMON);

std::string why_not(const KernelFacts& facts) {
  std::optional<KernelObstacle> obstacle = judge_kernel(facts);
  if (!obstacle) return "";
  EXPECT_FALSE(obstacle->cure.empty()) << obstacle->why_not;
  return obstacle->why_not;
}

TEST(KernelAvailability, WhatIsEnough) {
  EXPECT_EQ(why_not({.capabilities = kBoth}), "");
  EXPECT_EQ(why_not({.capabilities = uint64_t{1} << CAP_SYS_ADMIN}), "");
  EXPECT_EQ(why_not({.major = 5, .minor = 14, .capabilities = kBoth}), "");
  EXPECT_EQ(why_not({.capabilities = kBoth, .lockdown = "none [integrity] confidentiality"}), "");
}

TEST(KernelAvailability, WhatIsInTheWay) {
  EXPECT_EQ(why_not({}), "CAP_BPF and CAP_PERFMON are missing");
  EXPECT_EQ(why_not({.capabilities = uint64_t{1} << CAP_BPF}), "CAP_BPF and CAP_PERFMON are missing");
  EXPECT_EQ(why_not({.host_process_ids = false, .capabilities = kBoth}),
            "the agent runs in a container with process ids of its own");
  EXPECT_EQ(why_not({.describes_itself = false, .capabilities = kBoth}),
            "the kernel does not describe its types: no /sys/kernel/btf/vmlinux");
  EXPECT_EQ(why_not({.major = 5, .minor = 10, .capabilities = kBoth}), "Linux 5.10 is too old");
  EXPECT_EQ(why_not({.capabilities = kBoth, .lockdown = "none integrity [confidentiality]"}),
            "the kernel is locked down: confidentiality");
}

TEST(KernelAvailability, EachIsSaid) {
  std::vector<Availability> sources = kernel_availability();
  ASSERT_EQ(sources.size(), 4U);
  for (const Availability& source : sources) {
    EXPECT_EQ(source.available, source.why_not.empty()) << source.name;
    EXPECT_EQ(source.available, source.cure.empty()) << source.name;
  }
}

}  // namespace
}  // namespace fathom::agent
