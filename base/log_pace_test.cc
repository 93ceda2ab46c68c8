#include "base/log_pace.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace fathom {
namespace {

TEST(LogPace, TheFirstIsDueAtOnceAndTheNextLater) {
  LogPace pace(20'000'000);
  EXPECT_TRUE(pace.due());
  EXPECT_FALSE(pace.due());
  const uint64_t begin = now_monotonic_nano();
  while (!pace.due()) {
    ASSERT_LT(now_monotonic_nano() - begin, 10 * kNanosPerSecond);
  }
  EXPECT_FALSE(pace.due());
}

TEST(LogPace, OneOfManyThreadsIsToldSo) {
  LogPace pace(3600 * kNanosPerSecond);
  std::atomic<int> due{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 1000; ++turn) due += pace.due() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(due, 1);
}

}  // namespace
}  // namespace fathom
