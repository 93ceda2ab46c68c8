#include "base/syscall_names.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(SyscallNames, CallsThatAreYoungerThanTheKernelsHeaderHaveNames) {
  EXPECT_EQ(syscall_name(449), "futex_waitv");
  EXPECT_EQ(syscall_name(455), "futex_wait");
  EXPECT_EQ(syscall_name(462), "mseal");
  EXPECT_EQ(syscall_name(-1), "");
  EXPECT_EQ(syscall_name(1'000), "");
}

TEST(FutexOperations, AreDecodedWithTheirFlags) {
  EXPECT_EQ(futex_operation_name(0), "FUTEX_WAIT");
  EXPECT_EQ(futex_operation_name(1), "FUTEX_WAKE");
  EXPECT_EQ(futex_operation_name(128), "FUTEX_WAIT_PRIVATE");
  EXPECT_EQ(futex_operation_name(6 | 128), "FUTEX_LOCK_PI_PRIVATE");
  EXPECT_EQ(futex_operation_name(9 | 128 | 256), "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME");
  EXPECT_EQ(futex_operation_name(13 | 256), "FUTEX_LOCK_PI2|FUTEX_CLOCK_REALTIME");
}

TEST(FutexOperations, WhatIsNoneHasNoName) {
  EXPECT_EQ(futex_operation_name(2), "") << "FUTEX_FD is gone";
  EXPECT_EQ(futex_operation_name(14), "");
  EXPECT_EQ(futex_operation_name(512), "");
  EXPECT_EQ(futex_operation_name((uint64_t{7} << 32) | 129), "FUTEX_WAKE_PRIVATE") << "the kernel takes 32 bits";
}

}  // namespace
}  // namespace fathom
