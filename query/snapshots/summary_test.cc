#include "query/snapshots/summary.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace fathom::query {
namespace {

using snapshot::Sideband;
using snapshot::SidebandKind;
using snapshot::Snapshot;

// A row of a system call.
void add_lock_sleep(Snapshot& snapshot, int32_t tid, int32_t holder, uint64_t tsc, uint64_t ticks) {
  Sideband call, wait;
  call.kind = SidebandKind::kSystemCall;
  call.length = SYS_futex;
  call.file_offset = ticks;
  call.tsc = tsc;
  wait.kind = SidebandKind::kLockWait;
  wait.other_tid = holder;
  wait.address = static_cast<uint64_t>(holder) * 16;
  wait.tsc = tsc + 1;
  call.tid = wait.tid = tid;
  snapshot.sideband.push_back(call);
  snapshot.sideband.push_back(wait);
}

SnapshotSummary summary_of(const Snapshot& snapshot) {
  Result<SnapshotSummary> summary = summarize({}, snapshot);
  EXPECT_TRUE(summary.ok());
  return summary ? *summary : SnapshotSummary();
}

TEST(SnapshotSummary, TheLockIsTheOneThatTheTriggersThreadWaitedForLongest) {
  Snapshot snapshot;
  snapshot.trigger.tid = 7;
  EXPECT_EQ(summary_of(snapshot).lock_holder, -1);
  add_lock_sleep(snapshot, 3, 5, 50, 5000);
  EXPECT_EQ(summary_of(snapshot).lock_holder, 5) << "else any";
  add_lock_sleep(snapshot, 7, 4, 100, 2);
  add_lock_sleep(snapshot, 7, 9, 200, 300);
  add_lock_sleep(snapshot, 9, 12, 150, 400);
  EXPECT_EQ(summary_of(snapshot).lock_holder, 9);
  EXPECT_EQ(summary_of(snapshot).blocking_thread, 12);
}

}  // namespace
}  // namespace fathom::query
