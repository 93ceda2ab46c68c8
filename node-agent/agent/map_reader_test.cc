#include "node-agent/agent/map_reader.h"

#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

#include "base/time.h"

namespace fathom::agent {
namespace {

bool until_idle(MapReader& reader) {
  uint64_t give_up = now_monotonic_nano() + 20 * kNanosPerSecond;
  while (!reader.idle() && now_monotonic_nano() < give_up) {
    std::this_thread::yield();
    reader.poll();
  }
  return reader.idle();
}

TEST(MapReader, AnswersAtAPoll) {
  MapReader reader([](pid_t pid, uint64_t inode) { return std::optional(pid == 1 && inode == 2); });
  std::optional<bool> answer;
  reader.ask(1, 2, 1000, [&](std::optional<bool> maps) { answer = maps; });
  ASSERT_TRUE(until_idle(reader));
  EXPECT_EQ(answer, std::optional(true));
}

TEST(MapReader, AMapThatCannotBeReadKeepsNobodyWaiting) {
  std::binary_semaphore held(0);
  MapReader reader([&](pid_t, uint64_t) {
    held.acquire();
    return std::optional<bool>();
  });
  bool answered = false;
  reader.ask(1, 2, 1000, [&](std::optional<bool>) { answered = true; });
  reader.poll();
  EXPECT_FALSE(reader.idle());
  EXPECT_FALSE(reader.stuck(1000 + MapReader::kStuckNano));
  EXPECT_TRUE(reader.stuck(1001 + MapReader::kStuckNano));
  EXPECT_FALSE(answered);
  held.release();
  ASSERT_TRUE(until_idle(reader));
  EXPECT_TRUE(answered);
  EXPECT_FALSE(reader.stuck(UINT64_MAX));
}

}  // namespace
}  // namespace fathom::agent
