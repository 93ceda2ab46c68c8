#include "node-agent/kernel/snapshot_builder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "node-agent/testing/ring_memory.h"

namespace fathom::agent::kernel {
namespace {

using testing::record_at;
using testing::RingMemory;

constexpr uint64_t kMilli = 1'000'000;
constexpr uint64_t kChosenAt = 1'000 * kMilli;
constexpr uint64_t kNow = kChosenAt + 1'000 * kMilli;
constexpr ProcessId kRecordedProcess{.pid = 10'000'000, .started_ticks = 1};  // beyond what Linux gives: nobody's

ChoiceFilter filter_of(const ProcessId& process, uint64_t end_nano = UINT64_MAX) {
  ChoiceFilter filter;
  filter.add({process, kChosenAt, end_nano});
  return filter;
}

Record of(uint64_t monotonic_nano, uint16_t kind, int32_t pid, uint32_t tid = 1) {
  Record record = record_at(monotonic_nano, kind);
  record.pid = static_cast<uint32_t>(pid);
  record.tid = tid;
  return record;
}

Record call(uint64_t start_nano, uint64_t end_nano) {
  Record record = of(end_nano, kRecordSyscall, kRecordedProcess.pid);
  record.syscall.start_nano = start_nano;
  return record;
}

KernelSnapshot build(const RingMemory& ring, const SnapshotRequest& request, uint64_t end_nano = UINT64_MAX) {
  SnapshotBuilder builder(request, filter_of(kRecordedProcess, end_nano), kNow);
  builder.read(ring.view());
  return builder.finish();
}

std::vector<uint64_t> times(const KernelSnapshot& snapshot) {
  std::vector<uint64_t> times;
  for (const KernelEvent& event : snapshot.events) times.push_back(event.monotonic_nano);
  return times;
}

TEST(SnapshotBuilder, OnlyWhatWasAskedFor) {
  RingMemory ring(64);
  ring.write(of(kChosenAt - 1, kRecordWake, kRecordedProcess.pid));  // another's, of the same number
  ring.write(of(kChosenAt + 2, kRecordWake, kRecordedProcess.pid));
  ring.write(of(kChosenAt + 3, kRecordWake, 11));
  Record came = of(kChosenAt + 4, kRecordSwitch, 11);
  came.other.pid = static_cast<uint32_t>(kRecordedProcess.pid);
  ring.write(came);
  ring.write(of(kChosenAt + 1, kRecordWake, kRecordedProcess.pid));  // out of order
  ring.write(of(kChosenAt + 9, kRecordWake, kRecordedProcess.pid));  // when it was forgotten
  EXPECT_EQ(times(build(ring, {}, kChosenAt + 8)),
            (std::vector<uint64_t>{kChosenAt + 1, kChosenAt + 2, kChosenAt + 4}));
}

TEST(SnapshotBuilder, CallsThatOverlapTheWindow) {
  const uint64_t begin = kChosenAt + 10 * kMilli;
  const uint64_t end = kChosenAt + 20 * kMilli;
  RingMemory ring(64);
  ring.write(call(kChosenAt + 1, begin - 1));
  ring.write(call(kChosenAt + 1, begin + 1));
  ring.write(call(begin + 2, begin + 3));
  ring.write(call(end - 1, end + kMilli));
  ring.write(call(end + 1, end + kMilli));
  ring.write(of(end + 2, kRecordWake, kRecordedProcess.pid));
  EXPECT_EQ(times(build(ring, {.begin_nano = begin, .end_nano = end})),
            (std::vector<uint64_t>{begin + 1, begin + 3, end + kMilli}));
}

TEST(SnapshotBuilder, AStartOfAnEarlierChoiceIsNoStart) {
  RingMemory ring(64);
  ring.write(call(kChosenAt - 5, kChosenAt + 5));
  KernelSnapshot snapshot = build(ring, {});
  ASSERT_EQ(snapshot.events.size(), 1U);
  EXPECT_EQ(snapshot.events[0].start_nano, 0U);
}

TEST(SnapshotBuilder, CallsUnderWay) {
  SnapshotRequest request{.begin_nano = kChosenAt + 10, .end_nano = kChosenAt + 20};
  SnapshotBuilder builder(request, filter_of(kRecordedProcess), kNow);
  KernelEvent event{
      .kind = KernelEventKind::kSyscallUnderWay, .monotonic_nano = kChosenAt + 99, .pid = kRecordedProcess.pid};
  for (uint64_t start : {kChosenAt - 1, kChosenAt + 1, kChosenAt + 15, kChosenAt + 21}) {
    event.start_nano = start;
    builder.add(event);
  }
  KernelSnapshot snapshot = builder.finish();
  ASSERT_EQ(snapshot.events.size(), 2U);
  EXPECT_EQ(snapshot.events[0].start_nano, kChosenAt + 1);
  EXPECT_EQ(snapshot.events[1].start_nano, kChosenAt + 15);
}

TEST(SnapshotBuilder, TheOldestAreLeftOutAndCounted) {
  RingMemory ring(64);
  for (uint64_t i = 1; i <= 10; ++i) ring.write(of(kChosenAt + i, kRecordWake, kRecordedProcess.pid));
  KernelSnapshot snapshot = build(ring, {.most_events = 3});
  EXPECT_EQ(times(snapshot), (std::vector<uint64_t>{kChosenAt + 8, kChosenAt + 9, kChosenAt + 10}));
  EXPECT_EQ(snapshot.losses.left_out, 7U);
  EXPECT_EQ(snapshot.complete_from_nano, kChosenAt + 8);
}

TEST(SnapshotBuilder, SaysFromWhenOnItIsComplete) {
  RingMemory ring(64);
  for (uint64_t i = 1; i <= 100; ++i) ring.write(of(kChosenAt + i, kRecordWake, kRecordedProcess.pid));
  EXPECT_EQ(build(ring, {.begin_nano = kChosenAt}).complete_from_nano, kChosenAt + 37);
  EXPECT_EQ(build(RingMemory(64), {.begin_nano = 5}).complete_from_nano, 5U);
  EXPECT_EQ(build(RingMemory(64), {.begin_nano = 5, .processes = {kRecordedProcess}}).complete_from_nano, kChosenAt)
      << "before that nothing was recorded";
}

TEST(SnapshotBuilder, WhatTheKernelDidNotTellIsCounted) {
  RingMemory ring(64);
  ring.write(of(kChosenAt + 1, kRecordSwitch, kRecordedProcess.pid));
  ring.write(of(kChosenAt + 2, kRecordSwitch, kRecordedProcess.pid));
  ring.write(of(kNow + 1, kRecordSwitch, kRecordedProcess.pid));  // while the rings are read
  EXPECT_EQ(build(ring, {}).losses.missed, 1U);
  EXPECT_EQ(build(ring, {.begin_nano = kChosenAt + 2}).losses.missed, 0U);
  EXPECT_EQ(build(ring, {.end_nano = kChosenAt + 2}).losses.missed, 0U);
  EXPECT_EQ(build(ring, {.most_events = 2}).losses.missed, 0U);
}

TEST(SnapshotBuilder, NamesOfTheLivingAndTheDead) {
  RingMemory ring(64);
  Record named = of(kChosenAt + 1, kRecordThreadStart, kRecordedProcess.pid, 7);
  std::memcpy(named.other.name, "before", 7);
  ring.write(named);
  named = of(kChosenAt + 2, kRecordExit, kRecordedProcess.pid, 7);
  std::memcpy(named.other.name, "after", 6);
  ring.write(named);
  const pid_t own = ::getpid();
  Record exec = of(kChosenAt, kRecordExec, own, own);
  ring.write(exec);
  SnapshotRequest request{.end_nano = kChosenAt + 1};  // it ended later
  ChoiceFilter filter = filter_of(kRecordedProcess);
  filter.add({identify_process(own), kChosenAt});
  SnapshotBuilder builder(request, filter, kNow);
  builder.read(ring.view());
  KernelSnapshot snapshot = builder.finish();
  auto has = [&](pid_t pid, pid_t tid, const std::string& name) {
    return std::ranges::any_of(snapshot.threads, [&](const ThreadName& thread) {
      return thread.pid == pid && thread.tid == tid && (name.empty() || thread.name == name);
    });
  };
  EXPECT_TRUE(has(kRecordedProcess.pid, 7, "after"));
  EXPECT_TRUE(has(own, own, ""));
}

}  // namespace
}  // namespace fathom::agent::kernel
