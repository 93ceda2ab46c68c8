#include "node-agent/socket/disposal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <semaphore>
#include <thread>

#include "base/time.h"

namespace fathom::agent {
namespace {

// Waits in the close of one user's descriptors until it is told to go on.
struct Doors {
  std::counting_semaphore<1000> stuck{0};
  std::atomic<int> closed{0};
  int stuck_descriptor = -1;

  static constexpr size_t kMost = 40;

  Disposal disposal{kMost, [this](Fd descriptor) {
                      if (descriptor.get() == stuck_descriptor) stuck.acquire();
                      descriptor.close();
                      ++closed;
                    }};

  bool all_closed(int count) {
    uint64_t give_up = now_monotonic_nano() + 20 * kNanosPerSecond;
    while (closed < count && now_monotonic_nano() < give_up) std::this_thread::yield();
    return closed == count;
  }
};

Fd some_descriptor() {
  return Fd(::dup(STDOUT_FILENO));
}

TEST(Disposal, OneUsersStuckDescriptorKeepsBackNobodyElses) {
  Doors doors;
  Fd stuck = some_descriptor();
  doors.stuck_descriptor = stuck.get();
  doors.disposal.take(1, std::move(stuck));
  doors.disposal.take(1, some_descriptor());
  for (int i = 0; i < 10; ++i) doors.disposal.take(2, some_descriptor());
  EXPECT_TRUE(doors.all_closed(10));
  EXPECT_EQ(doors.disposal.waiting(), 2u);
  doors.stuck.release();
  EXPECT_TRUE(doors.all_closed(12));
  uint64_t give_up = now_monotonic_nano() + 20 * kNanosPerSecond;
  while (doors.disposal.waiting() > 0 && now_monotonic_nano() < give_up) std::this_thread::yield();
  EXPECT_EQ(doors.disposal.waiting(), 0u);
}

TEST(Disposal, SaysWhenItIsFull) {
  Doors doors;
  Fd stuck = some_descriptor();
  doors.stuck_descriptor = stuck.get();
  doors.disposal.take(1, std::move(stuck));
  for (size_t i = 1; i < Doors::kMost; ++i) {
    ASSERT_TRUE(doors.disposal.has_room());
    doors.disposal.take(1, Fd());
  }
  EXPECT_FALSE(doors.disposal.has_room());
  doors.stuck.release();
  EXPECT_TRUE(doors.all_closed(static_cast<int>(Doors::kMost)));
}

TEST(Disposal, OneUserHasNoMoreThanItsShare) {
  Doors doors;
  Fd stuck = some_descriptor();
  doors.stuck_descriptor = stuck.get();
  doors.disposal.take(1, std::move(stuck));
  size_t taken = 1;
  for (; doors.disposal.has_room_for(1) && taken < Doors::kMost; ++taken) doors.disposal.take(1, Fd());
  EXPECT_GE(taken, Doors::kMost / Disposal::kSharesOfAll);
  EXPECT_LE(taken, Doors::kMost / Disposal::kSharesOfAll + 1);
  EXPECT_TRUE(doors.disposal.has_room_for(2));
  EXPECT_TRUE(doors.disposal.has_room());
  doors.stuck.release();
  EXPECT_TRUE(doors.all_closed(static_cast<int>(taken)));
  uint64_t give_up = now_monotonic_nano() + 20 * kNanosPerSecond;
  while (!doors.disposal.has_room_for(1) && now_monotonic_nano() < give_up) std::this_thread::yield();
  EXPECT_TRUE(doors.disposal.has_room_for(1));
}

}  // namespace
}  // namespace fathom::agent
