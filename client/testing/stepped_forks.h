// What the tests share whose handlers fork: whether this process is such a child, and what became of the children.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cstdint>

namespace fathom::client::testing {

inline bool is_child = false;  // set in the forked child
inline uint64_t forks = 0;     // of this process

// Waits for the child, which has to exit with 0.
inline void expect_good_child(pid_t child) {
  forks++;
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "the child at step " << forks;
}

}  // namespace fathom::client::testing
