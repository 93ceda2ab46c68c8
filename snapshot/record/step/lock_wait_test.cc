#include "snapshot/record/step/lock_wait.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace fathom::snapshot::step {
namespace {

constexpr pid_t kWaiter = 1;

user_regs_struct in_futex(const void* word, int operation) {
  user_regs_struct registers{};
  registers.orig_rax = SYS_futex;
  registers.rdi = reinterpret_cast<uint64_t>(word);
  registers.rsi = static_cast<uint64_t>(operation);
  return registers;
}

std::optional<LockWait> wait_of(const user_regs_struct& registers) {
  LockWaitSources sources;
  sources.read_word = [](uint64_t address) -> std::optional<uint32_t> {
    uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
    return word;
  };
  sources.is_thread = [](pid_t tid) { return tid == ::gettid(); };
  return lock_wait(kWaiter, registers, sources);
}

// What the C library of this very program writes.
TEST(LockWait, AMutexNamesItsOwner) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  EXPECT_FALSE(wait_of(in_futex(&mutex, FUTEX_WAIT | FUTEX_PRIVATE_FLAG)));
  pthread_mutex_lock(&mutex);
  const auto wait = wait_of(in_futex(&mutex, FUTEX_WAIT | FUTEX_PRIVATE_FLAG));
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->holder, ::gettid());
  EXPECT_EQ(wait->address, reinterpret_cast<uint64_t>(&mutex));
  EXPECT_STREQ(wait->lock, "mutex");
  pthread_mutex_unlock(&mutex);
  EXPECT_FALSE(wait_of(in_futex(&mutex, FUTEX_WAIT | FUTEX_PRIVATE_FLAG)));
}

TEST(LockWait, AReadWriteLockNamesItsWriter) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_wrlock(&lock);
  for (size_t word : {2U, 3U}) {
    const auto wait = wait_of(in_futex(reinterpret_cast<const uint32_t*>(&lock) + word, FUTEX_WAIT_BITSET));
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->holder, ::gettid());
    EXPECT_STREQ(wait->lock, "read-write lock");
  }
  pthread_rwlock_unlock(&lock);
  EXPECT_FALSE(wait_of(in_futex(reinterpret_cast<const uint32_t*>(&lock) + 2, FUTEX_WAIT_BITSET)));
}

TEST(LockWait, ALockThatInheritsPriorityNamesItsOwner) {
  const uint32_t word = static_cast<uint32_t>(::gettid()) | FUTEX_WAITERS;
  const auto wait = wait_of(in_futex(&word, FUTEX_LOCK_PI));
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->holder, ::gettid());
}

TEST(LockWait, OtherCallsAreNone) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  EXPECT_FALSE(wait_of(in_futex(&mutex, FUTEX_WAKE)));
  user_regs_struct registers = in_futex(&mutex, FUTEX_WAIT);
  registers.orig_rax = SYS_read;
  EXPECT_FALSE(wait_of(registers));
  pthread_mutex_unlock(&mutex);
}

}  // namespace
}  // namespace fathom::snapshot::step
