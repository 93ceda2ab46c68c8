// Tests in a process of their own: the child of a fork has a new pool, whose settings it may choose.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace fathom::client::testing {

// What the body finds wrong is reported in the child, and fails the test in the parent.
template <typename Body>
void in_own_process(const Body& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    const bool failed = ::testing::Test::HasFailure();
    std::fflush(nullptr);
    _exit(failed ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "in the child";
}

}  // namespace fathom::client::testing
