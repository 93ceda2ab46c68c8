#include "snapshot/format/held_locks.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace fathom::snapshot {
namespace {

Sideband wait(int32_t tid, int32_t holder, uint64_t address) {
  Sideband row;
  row.kind = SidebandKind::kLockWait;
  row.tid = tid;
  row.other_tid = holder;
  row.address = address;
  row.text = "mutex";
  return row;
}

// As the stepper writes it, in a system call.
void sleep_for(Snapshot& snapshot, const Sideband& wait, uint64_t tsc, uint64_t ticks) {
  Sideband call;
  call.kind = SidebandKind::kSystemCall;
  call.tid = wait.tid;
  call.tsc = tsc;
  call.length = SYS_futex;
  call.file_offset = ticks;
  snapshot.sideband.push_back(call);
  snapshot.sideband.push_back(wait);
  snapshot.sideband.back().tsc = tsc + 1;
}

std::vector<int32_t> holders_of(const Snapshot& snapshot) {
  std::vector<int32_t> holders;
  for (const HeldLock& lock : held_locks(snapshot)) holders.push_back(lock.holder);
  const Sideband* foremost = foremost_wait(ThreadRows(snapshot));
  EXPECT_EQ(foremost == nullptr ? -1 : foremost->other_tid, holders.empty() ? -1 : holders.front());
  return holders;
}

TEST(HeldLocks, TheTriggersComesFirst) {
  Snapshot snapshot;
  EXPECT_TRUE(held_locks(snapshot).empty());
  Sideband name;
  name.kind = SidebandKind::kName;
  name.tid = 9;
  name.text = "shop";
  snapshot.sideband = {name, wait(3, 4, 16), wait(5, 9, 32), wait(7, 9, 32), wait(5, 9, 32)};
  snapshot.trigger.tid = 7;
  const auto locks = held_locks(snapshot);
  ASSERT_EQ(locks.size(), 2U);
  EXPECT_EQ(locks[0].waiters, (std::vector<int32_t>{7, 5}));
  EXPECT_EQ(held_lock_text(locks[0]),
            "thread 9 (shop) holds a mutex that thread 7 and 1 other wait for (--tid 9 shows it)");
  EXPECT_EQ(held_lock_text(locks[1]), "thread 4 holds a mutex that thread 3 waits for (--tid 4 shows it)");
}

// First a short sleep for a memory allocator's lock, then the sleep that took the time.
TEST(HeldLocks, OfTheTriggersTheLongestWaitComesFirst) {
  Snapshot snapshot;
  EXPECT_TRUE(holders_of(snapshot).empty());
  snapshot.trigger.tid = 7;
  sleep_for(snapshot, wait(3, 5, 80), 50, 5000);
  sleep_for(snapshot, wait(7, 4, 16), 100, 2);
  sleep_for(snapshot, wait(7, 9, 32), 200, 300);
  sleep_for(snapshot, wait(7, 8, 48), 600, 20);
  EXPECT_EQ(holders_of(snapshot), (std::vector<int32_t>{9, 8, 4, 5})) << "another thread's is not the request's";
  EXPECT_EQ(foremost_threads(snapshot), (std::vector<int32_t>{9, 8, 4, 5, 7}));
  sleep_for(snapshot, wait(7, 4, 16), 700, 400);
  EXPECT_EQ(holders_of(snapshot), (std::vector<int32_t>{4, 9, 8, 5})) << "the longest of its sleeps counts";
  EXPECT_EQ(held_locks(snapshot)[0].waiters, (std::vector<int32_t>{7}));
}

TEST(HeldLocks, WithoutTimesTheFirstComesFirst) {
  Snapshot snapshot;
  snapshot.sideband = {wait(3, 5, 80), wait(7, 4, 16), wait(7, 9, 32)};
  for (size_t i = 0; i < 3; ++i) snapshot.sideband[i].tsc = 100 + 100 * i;
  snapshot.trigger.tid = 7;
  EXPECT_EQ(holders_of(snapshot), (std::vector<int32_t>{4, 9, 5}));
  sleep_for(snapshot, wait(7, 8, 48), 600, 20);
  EXPECT_EQ(holders_of(snapshot), (std::vector<int32_t>{8, 4, 9, 5})) << "of this one it is known how long it was";
  snapshot.trigger.tid = -1;
  EXPECT_EQ(holders_of(snapshot), (std::vector<int32_t>{5, 4, 9, 8}));
}

TEST(ForemostThreads, AreTheHoldersThenTheTriggersOwn) {
  Snapshot snapshot;
  EXPECT_TRUE(foremost_threads(snapshot).empty());
  snapshot.trigger.tid = 7;
  EXPECT_EQ(foremost_threads(snapshot), (std::vector<int32_t>{7}));
  snapshot.sideband = {wait(3, 4, 16), wait(7, 9, 32), wait(7, 9, 48), wait(8, 7, 64)};
  EXPECT_EQ(foremost_threads(snapshot), (std::vector<int32_t>{9, 4, 7})) << "each once";
}

}  // namespace
}  // namespace fathom::snapshot
