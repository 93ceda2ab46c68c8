#include "base/thread_priority.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <thread>

namespace fathom {
namespace {

int nice_of_this_thread() {
  return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)));
}

template <typename Role>
int nice_after(Role role) {
  int nice = 0;
  std::thread([&] {
    role();
    nice = nice_of_this_thread();
  }).join();
  return nice;
}

void make_nice(int nice) {
  ASSERT_EQ(::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), nice), 0);
}

// Tests may run under nice(1).
int at_least(int nice) {
  return std::max(nice, nice_of_this_thread());
}

TEST(ThreadPriority, IntakeYieldsAndBackgroundYieldsMore) {
  EXPECT_EQ(nice_after(yield_to_questions), at_least(5));
  EXPECT_EQ(nice_after(yield_to_requests), at_least(10));
}

TEST(ThreadPriority, AThreadKeepsItsFirstRole) {
  EXPECT_EQ(nice_after([] {
              yield_to_questions();
              yield_to_requests();
            }),
            at_least(5));
}

TEST(ThreadPriority, WhoGoesFirstIsRaisedWhereThatIsAllowed) {
  int before = nice_of_this_thread();
  int after = nice_after(go_first);
  EXPECT_TRUE(after == std::min(before, -10) || after == before) << after;
}

TEST(ThreadPriority, NobodyIsRaised) {
  const int low = at_least(15);
  EXPECT_EQ(nice_after([low] {
              make_nice(low);
              yield_to_questions();
            }),
            low);
}

TEST(ThreadPriority, OthersOfTheProcessStayAsTheyAre) {
  int before = nice_of_this_thread();
  nice_after(yield_to_requests);
  EXPECT_EQ(nice_of_this_thread(), before);
}

// As sched_getattr(2) says it, in its fourth word; 0 before Linux 6.12, where turns are all alike.
uint64_t turn_nano() {
  std::array<uint64_t, 6> words{};
  EXPECT_EQ(::syscall(SYS_sched_getattr, 0, words.data(), sizeof words, 0), 0);
  return words[3];
}

TEST(ThreadPriority, TurnsOfThreadsThatYieldAreLongerWhereThereIsSuchAThing) {
  uint64_t usual = turn_nano(), longer = 0;
  std::thread([&] {
    yield_to_questions();
    longer = turn_nano();
  }).join();
  EXPECT_EQ(longer > usual, usual > 0) << longer << " after " << usual;
}

}  // namespace
}  // namespace fathom
