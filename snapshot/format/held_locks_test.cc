#include "snapshot/format/held_locks.h"

#include <gtest/gtest.h>

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
