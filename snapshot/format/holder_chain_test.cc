#include "snapshot/format/holder_chain.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>

#include "snapshot/format/held_locks.h"
#include "snapshot/format/thread_activity.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kEnd = 1000;  // end of the recording

// Thread 7 waits for thread 9's lock from 100 until recording ended.
class HolderChains : public testing::Test {
 protected:
  HolderChains() {
    snapshot_.trigger.tid = 7;
    sleeps(7, 9, 100);
    Sideband last;
    last.kind = SidebandKind::kStepped;
    last.tsc = kEnd;
    snapshot_.sideband.push_back(last);
  }

  void sleeps(int32_t tid, int32_t holder, uint64_t tsc) {
    Sideband row;
    row.kind = SidebandKind::kLockWait;
    row.tsc = tsc;
    row.tid = tid;
    row.other_tid = holder;
    row.address = static_cast<uint64_t>(holder) * 16;
    row.text = "mutex";
    snapshot_.sideband.push_back(row);
  }
  void calls(int32_t tid, uint64_t number, uint64_t tsc, uint64_t ticks, uint32_t flags = 0) {
    Sideband row;
    row.kind = SidebandKind::kSystemCall;
    row.tsc = tsc;
    row.tid = tid;
    row.length = number;
    row.file_offset = ticks;
    row.flags = flags;
    snapshot_.sideband.push_back(row);
  }
  // A system call as the stepper writes it.
  void sleeps_in_call(int32_t tid, int32_t holder, uint64_t tsc, uint64_t ticks, uint32_t flags = 0) {
    calls(tid, SYS_futex, tsc, ticks, flags);
    sleeps(tid, holder, tsc + 1);
  }
  HolderChain chain() const { return holder_chain(ThreadRows(snapshot_), snapshot_.sideband.front()); }
  std::vector<int32_t> links() const {
    std::vector<int32_t> tids;
    for (const HolderLink& link : chain().links) tids.push_back(link.holder);
    return tids;
  }
  std::string text() const { return held_lock_text(held_locks(snapshot_).front()); }

  Snapshot snapshot_;
};

TEST_F(HolderChains, TheEndIsNamedWithWhatItDoes) {
  sleeps_in_call(9, 12, 110, 880);
  calls(12, SYS_fsync, 50, 930);
  Sideband name;
  name.kind = SidebandKind::kName;
  name.tid = 12;
  name.text = "log";
  snapshot_.sideband.push_back(name);
  EXPECT_EQ(links(), (std::vector<int32_t>{12}));
  EXPECT_EQ(chain().system_call, "fsync");
  EXPECT_EQ(text(),
            "thread 9 holds a mutex that thread 7 waits for, and waits itself for a mutex that thread 12 (log) holds, "
            "which is in fsync (--tid 12 shows it)");
  EXPECT_EQ(held_locks(snapshot_).front().holder, 9) << "the lock's own holder stays what it is";
  EXPECT_EQ(foremost_threads(snapshot_), (std::vector<int32_t>{12, 9, 7}));
}

TEST_F(HolderChains, WhoWaitsForNobodyIsTheEnd) {
  EXPECT_EQ(text(), "thread 9 holds a mutex that thread 7 waits for (--tid 9 shows it)");
  calls(9, SYS_fsync, 50, 930);
  EXPECT_TRUE(links().empty());
  EXPECT_EQ(text(), "thread 9 holds a mutex that thread 7 waits for, and is in fsync (--tid 9 shows it)");
  calls(9, 100'000, 51, 930);
  EXPECT_EQ(chain().system_call, "system call 100000") << "of no name, and the one before was over when it began";
}

TEST_F(HolderChains, AreAsLongAsTheyAre) {
  for (int32_t holder = 10; holder < 15; ++holder) sleeps(holder == 10 ? 9 : holder - 1, holder, 120);
  EXPECT_EQ(links(), (std::vector<int32_t>{10, 11, 12, 13, 14}));
  EXPECT_EQ(chain().system_call, "");
  EXPECT_NE(text().find("thread 13 holds, which waits for a mutex that thread 14 holds (--tid 14 shows it)"),
            std::string::npos)
      << text();
}

TEST_F(HolderChains, AreBounded) {
  for (int32_t holder = 10; holder < 60; ++holder) sleeps(holder == 10 ? 9 : holder - 1, holder, 120);
  EXPECT_EQ(links().size(), kMostHolderLinks);
  EXPECT_TRUE(chain().is_cut);
  EXPECT_NE(text().find(", which waits for others (--tid 25 shows it)"), std::string::npos) << text();
}

TEST_F(HolderChains, OneThatLeadsBackIsADeadlock) {
  sleeps(9, 12, 110);
  sleeps(12, 9, 120);
  EXPECT_EQ(links(), (std::vector<int32_t>{12, 9}));
  EXPECT_TRUE(chain().is_deadlock);
  EXPECT_NE(text().find("that thread 12 holds, which waits for a mutex that thread 9 holds: a deadlock (--tid 9 "),
            std::string::npos)
      << text();
}

// It slept for a lock that passed to another holder meanwhile.
TEST_F(HolderChains, NoDeadlockIsToldOfThreadsThatGotOn) {
  sleeps_in_call(9, 12, 110, 880);
  sleeps(12, 9, 120);
  EXPECT_EQ(links(), (std::vector<int32_t>{12}));
  EXPECT_FALSE(chain().is_deadlock);
}

TEST_F(HolderChains, TheThreadThatWaitsIsAPartOfTheCircle) {
  sleeps(9, 7, 110);
  EXPECT_EQ(links(), (std::vector<int32_t>{7}));
  EXPECT_TRUE(chain().is_deadlock);
}

// A holder that computes for long and waits a moment ends the chain. Time that only stepping adds does not count.
TEST_F(HolderChains, WhatTookMostOfTheTimeDecides) {
  sleeps_in_call(9, 12, 110, 100);
  EXPECT_TRUE(links().empty()) << "it ran for the other 801 ticks";
  snapshot_.slowdown = 100;
  EXPECT_EQ(links(), (std::vector<int32_t>{12}));
  calls(9, SYS_fsync, 300, 101);
  EXPECT_TRUE(links().empty());
  EXPECT_EQ(chain().system_call, "fsync");
}

TEST_F(HolderChains, ManyShortCallsAreOne) {
  for (uint64_t i = 0; i < 10; ++i) calls(9, SYS_nanosleep, 110 + i * 60, 50);
  calls(9, SYS_fsync, 720, 200);
  EXPECT_EQ(chain().system_call, "nanosleep");
}

// Sleeps before and after the first thread's sleep do not explain it.
TEST_F(HolderChains, AreOfTheTimeOfTheWait) {
  snapshot_.sideband.front().tsc = 500;
  sleeps_in_call(9, 12, 100, 300);
  calls(9, SYS_fsync, 600, 300);
  EXPECT_TRUE(links().empty());
  EXPECT_EQ(chain().system_call, "fsync");
}

TEST_F(HolderChains, TheOrderOfRowsDoesNotMatter) {
  sleeps_in_call(9, 12, 110, 880);
  calls(12, SYS_fsync, 50, 930);
  std::ranges::reverse(snapshot_.sideband);
  const ThreadRows rows(snapshot_);
  const HolderChain chain = holder_chain(rows, *foremost_wait(rows));
  EXPECT_EQ(end_of_chain(chain, 9), 12);
  EXPECT_EQ(chain.system_call, "fsync");
}

TEST_F(HolderChains, AnyNumbersAreTaken) {
  for (const uint64_t tsc : {uint64_t{0}, UINT64_MAX}) {
    sleeps_in_call(9, 9, tsc, UINT64_MAX);
    sleeps_in_call(7, 7, tsc, 1);
    calls(9, UINT64_MAX, tsc, UINT64_MAX, UINT32_MAX);
    snapshot_.slowdown = -1;
    EXPECT_LE(chain().links.size(), kMostHolderLinks);
  }
}

// A signal interrupts a call, and the kernel runs it again.
TEST(ThreadActivity, ACallThatIsRunAgainIsOne) {
  Snapshot snapshot;
  const auto add = [&](SidebandKind kind, uint64_t tsc, uint64_t ticks, uint32_t flags) {
    Sideband row;
    row.kind = kind;
    row.tid = 7;
    row.other_tid = 9;
    row.tsc = tsc;
    row.length = SYS_futex;
    row.file_offset = ticks;
    row.flags = flags;
    snapshot.sideband.push_back(row);
  };
  add(SidebandKind::kSystemCall, 100, 50, kFlagUnderWay);
  add(SidebandKind::kLockWait, 101, 0, 0);
  add(SidebandKind::kSystemCall, 151, 49, 0);
  const auto calls = calls_of(ThreadRows(snapshot), 7);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].when.begin, 100U);
  EXPECT_EQ(calls[0].when.end, 200U);
  EXPECT_NE(calls[0].lock, nullptr);
  EXPECT_FALSE(calls[0].lasts);
  add(SidebandKind::kSystemCall, 300, 10, kFlagUnderWay);
  EXPECT_TRUE(calls_of(ThreadRows(snapshot), 7).back().lasts) << "until recording ended";
  EXPECT_TRUE(calls_of(ThreadRows(snapshot), 8).empty());
}

}  // namespace
}  // namespace fathom::snapshot
