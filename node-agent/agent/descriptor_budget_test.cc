#include "node-agent/agent/descriptor_budget.h"

#include <gtest/gtest.h>

namespace fathom::agent {
namespace {

TEST(DescriptorBudget, ProgramsLeaveSomeToTheAgent) {
  for (uint64_t most_open : {256u, 1024u, 4096u, 12'000u, 65'536u}) {
    AgentOptions options = fit_descriptors({}, most_open);
    uint64_t taken = options.listener.most_connections + options.limits.most_pools;
    EXPECT_LE(taken, most_open - std::min(kOwnDescriptors, most_open / 2)) << most_open;
    if (most_open < 4096) continue;
    taken += options.listener.most_being_closed + Received::kMostDescriptors;
    EXPECT_LE(taken, most_open - kOwnDescriptors) << most_open;
    EXPECT_GE(options.limits.most_pools_per_user, 32u) << most_open;
  }
}

TEST(DescriptorBudget, WhatIsShortIsNotOneUsers) {
  AgentOptions options = fit_descriptors({}, 1024);
  EXPECT_EQ(options.limits.most_pools, 170u);
  EXPECT_EQ(options.limits.most_pools_per_user, 85u);
  EXPECT_EQ(options.detail_limits.most_pools_per_user, 85u);
  EXPECT_EQ(options.listener.most_connections_per_user, 85u);
}

TEST(DescriptorBudget, WhatCannotBeClosedIsLittleOfLittle) {
  EXPECT_EQ(fit_descriptors({}, 1024).listener.most_being_closed, 128u);
}

TEST(DescriptorBudget, WithEnoughNothingChanges) {
  AgentOptions before;
  AgentOptions options = fit_descriptors(before, UINT64_MAX);
  EXPECT_EQ(options.limits.most_pools, before.limits.most_pools);
  EXPECT_EQ(options.limits.most_pools_per_user, before.limits.most_pools_per_user);
  EXPECT_EQ(options.listener.most_connections, before.listener.most_connections);
  EXPECT_EQ(options.listener.most_being_closed, before.listener.most_being_closed);
}

}  // namespace
}  // namespace fathom::agent
