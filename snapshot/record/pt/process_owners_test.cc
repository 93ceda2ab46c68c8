#include "snapshot/record/pt/process_owners.h"

#include <gtest/gtest.h>

#include <string>

#include "snapshot/record/testing/scripted_perf.h"

namespace fathom::snapshot {
namespace {

constexpr uint32_t kAnnsUid = 1000;
constexpr uint32_t kBobsUid = 1001;

class ProcessOwnersTest : public testing::Test {
 protected:
  void SetUp() override {
    system_.set_owner(42, kAnnsUid);
    system_.set_owner(50, kBobsUid);
    make();
  }
  void make() {
    owners_.emplace(system_);
    owners_->scan(42);
    owners_->scan(50);
  }
  void fork(int32_t pid, int32_t parent, uint64_t tsc) {
    owners_->note({.kind = SidebandKind::kFork, .tsc = tsc, .pid = pid, .tid = pid, .other_pid = parent});
  }
  void exec(int32_t pid, uint64_t tsc) {
    owners_->note({.kind = SidebandKind::kName, .tsc = tsc, .pid = pid, .tid = pid, .flags = kFlagExec});
  }
  void end(int32_t pid) { system_.remove_file("/proc/" + std::to_string(pid)); }
  bool is_anns(int32_t pid, uint64_t since = 0) const {
    return owners_->owner(pid, since) == ProcessOwner{ProcessOwner::Kind::kUser, kAnnsUid};
  }
  bool is_unknown(int32_t pid, uint64_t since = 0) const { return owners_->owner(pid, since) == ProcessOwner{}; }

  ScriptedPerf system_;
  std::optional<ProcessOwners> owners_;
};

TEST_F(ProcessOwnersTest, AProcessIsOfTheUserOfAllItsIds) {
  EXPECT_TRUE(is_anns(42));
  EXPECT_FALSE(is_anns(50));
  EXPECT_TRUE(is_unknown(43));
  EXPECT_TRUE(is_unknown(-1));
  system_.set_owner(42, kAnnsUid, 0);  // it runs a program with set-user-ID
  make();
  EXPECT_TRUE(is_unknown(42));
  system_.set_owner(42, kAnnsUid);
  system_.put_file("/proc/42/status", "Uid:\t1001\t1001\t1001\t1001\n");  // the directory is another's: not dumpable
  make();
  EXPECT_TRUE(is_unknown(42));
}

TEST_F(ProcessOwnersTest, OneThreadOfAnotherUserIsEnough) {
  system_.put_file("/proc/42/task/42/status", "Uid:\t1000\t1000\t1000\t1000\n");
  owners_->read_again({42});
  EXPECT_TRUE(is_anns(42));
  system_.put_file("/proc/42/task/43/status", "Uid:\t1000\t0\t1000\t1000\n");
  owners_->read_again({42});
  EXPECT_TRUE(is_unknown(42));
}

TEST_F(ProcessOwnersTest, AChildIsItsParentsUntilItIsRead) {
  system_.set_owner(60, kAnnsUid);
  fork(60, 42, 500);
  owners_->apply_noted();
  EXPECT_TRUE(is_anns(60));
  // Gone before it was read: it may have been anybody's.
  fork(61, 42, 600);
  owners_->apply_noted();
  EXPECT_TRUE(is_unknown(61, UINT64_MAX));
  // It came from another user's process.
  system_.set_owner(62, kAnnsUid);
  fork(62, 50, 700);
  owners_->apply_noted();
  EXPECT_TRUE(is_unknown(62));
  EXPECT_TRUE(is_anns(62, system_.now));
  // A number that was another process's before.
  system_.set_owner(50, kAnnsUid);
  fork(50, 42, 800);
  owners_->apply_noted();
  EXPECT_TRUE(is_unknown(50, 799));
  EXPECT_TRUE(is_anns(50, 800));
}

TEST_F(ProcessOwnersTest, RowsOfAllCpusCountInTheOrderOfTime) {
  system_.set_owner(60, kAnnsUid);
  exec(60, 510);
  fork(60, 42, 500);
  owners_->apply_noted();
  EXPECT_TRUE(is_anns(60));
}

TEST_F(ProcessOwnersTest, AParentThatRunsAnotherProgramIsReadFirst) {
  system_.set_owner(42, kAnnsUid, 0);
  exec(42, 500);
  fork(60, 42, 510);  // gone by now
  system_.set_owner(61, kAnnsUid);
  fork(61, 42, 520);
  owners_->apply_noted();
  for (const int32_t pid : {42, 60, 61}) EXPECT_TRUE(is_unknown(pid, 400)) << pid;
}

TEST_F(ProcessOwnersTest, AChangeIsSeenAtTheLatestWhenItIsReadAgain) {
  const uint64_t before = system_.now;
  system_.set_owner(42, kBobsUid);
  owners_->read_again({42});
  EXPECT_TRUE(is_unknown(42, before));
  EXPECT_FALSE(is_anns(42, system_.now));
  system_.set_owner(50, kAnnsUid);
  owners_->read_in_turn();
  EXPECT_TRUE(is_unknown(50, before));
  EXPECT_TRUE(is_anns(50, system_.now));
}

TEST_F(ProcessOwnersTest, WhatEndedIsWhatItWasUnlessSomethingIsMissing) {
  end(42);
  owners_->read_again({42});
  EXPECT_TRUE(is_anns(42));
  // Records were lost since it was read: it may have run another program.
  owners_->note({.kind = SidebandKind::kLost, .tsc = system_.now});
  owners_->apply_noted();
  owners_->read_again({42});
  EXPECT_TRUE(is_unknown(42));
  // Root may become anybody.
  system_.set_owner(70, 0);
  owners_->scan(70);
  end(70);
  owners_->read_again({70});
  EXPECT_TRUE(is_unknown(70));
}

TEST_F(ProcessOwnersTest, NamespacesMakeNumbersAmbiguous) {
  EXPECT_EQ(owners_->owner(0, 0).kind, ProcessOwner::Kind::kKernel);
  system_.set_owner(42, 65534);
  make();
  EXPECT_EQ(owners_->owner(42, 0).uid, 65534u);
  system_.put_file("/proc/self/uid_map", "0 1000 1\n");
  system_.remove_file("/proc/self/ns/pid");
  make();
  EXPECT_TRUE(is_unknown(0));
  EXPECT_TRUE(is_unknown(42));
}

TEST_F(ProcessOwnersTest, EndedProcessesAreForgottenBehindTheHorizon) {
  system_.set_owner(60, kAnnsUid);
  fork(60, 42, 500);
  owners_->apply_noted();
  owners_->forget(400, [](int32_t pid) { return pid == 42; });
  EXPECT_TRUE(is_anns(60));
  owners_->forget(501, [](int32_t pid) { return pid == 42; });
  EXPECT_TRUE(is_unknown(60));
  EXPECT_TRUE(is_anns(42));
}

}  // namespace
}  // namespace fathom::snapshot
