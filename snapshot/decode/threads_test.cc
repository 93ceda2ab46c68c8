// Which thread an instruction ran on, and losses that the sideband tells.
#include <gtest/gtest.h>

#include <algorithm>

#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/walk.h"

namespace fathom::snapshot {
namespace {

class ThreadsTest : public testing::Test {
 protected:
  ThreadsTest() {
    snapshot_.timing = StreamBuilder::timing();
    one_.plain(7);
    one_.jump(one_.here());
    other_.plain(3);
    const auto begin = other_.here();
    other_.plain(11);
    other_.jcc(begin);
    other_.plain(40);
    other_.link();
    one_.link();
  }

  Sideband& add(SidebandKind kind, uint64_t tsc, int32_t pid, int32_t cpu) {
    Sideband row;
    row.kind = kind;
    row.tsc = tsc;
    row.pid = pid;
    row.tid = pid + 1;
    row.cpu = cpu;
    snapshot_.sideband.push_back(row);
    return snapshot_.sideband.back();
  }

  static StreamOptions timed(uint64_t psb_bytes = 0) {
    StreamOptions options;
    options.mtc = options.cyc = true;
    options.psb_bytes = psb_bytes;
    return options;
  }

  DecodeSummary decode(const std::vector<std::string>& streams, DecodeOptions options = {1, 1}) {
    std::ranges::stable_sort(snapshot_.sideband, {}, &Sideband::tsc);
    const SnapshotFile file = place_.write(snapshot_, streams);
    auto summary = decode_flow(file, place_.directory(), options, found_);
    EXPECT_TRUE(summary.ok());
    return *summary;
  }

  // What each thread ran: pid and number of instructions, in order, neighbours put together.
  std::vector<std::pair<int32_t, uint64_t>> shares() const {
    std::vector<std::pair<int32_t, uint64_t>> all;
    for (const auto& item : found_.items) {
      const bool same = !all.empty() && item.kind == FlowKind::kThread && all.back().first == item_pid(item);
      if (item.kind == FlowKind::kThread && !same) all.emplace_back(item_pid(item), 0);
      if (item.kind == FlowKind::kBlock) all.back().second += item.count;
    }
    std::erase_if(all, [](const auto& share) { return share.second == 0; });
    return all;
  }

  // Runs plain code from the base on, then a pause in which a switch may lie.
  static void run(StreamBuilder& builder, const Program& code, int instructions) {
    builder.enable(kProgramBase);
    for (int number = 0; number < instructions; ++number) {
      const Instruction& next = code.instruction(builder.ip());
      next.op == Op::kJcc ? builder.step_jcc(next, true) : builder.step(next);
    }
    builder.disable();
    builder.pass(1000);
  }

  Program one_{kProgramBase};
  Program other_{kProgramBase};
  SnapshotPlace place_;
  Snapshot snapshot_;
  Recorder found_;
};

// Two processes show different code at one address: only the right switch decodes them both.
TEST_F(ThreadsTest, ACpusStreamIsSplitBySwitches) {
  place_.add_code(snapshot_, one_.link(), kProgramBase, 10);
  place_.add_code(snapshot_, other_.link(), kProgramBase, 20);
  snapshot_.streams.resize(1);
  snapshot_.streams[0].cpu = 3;
  for (uint64_t psb_bytes : {uint64_t{0}, uint64_t{60}}) {
    StreamBuilder builder(timed(psb_bytes));
    const size_t maps = 2;
    snapshot_.sideband.resize(maps);
    add(SidebandKind::kSwitchIn, 1, 10, 3);
    for (int round = 0; round < 20; ++round) {
      const bool odd = round % 2 != 0;
      run(builder, odd ? other_ : one_, odd ? 200 : 5);
      add(SidebandKind::kSwitchOut, builder.tsc() - 600, odd ? 20 : 10, 3);
      add(SidebandKind::kSwitchIn, builder.tsc() - 500, odd ? 10 : 20, 3);
      add(SidebandKind::kSwitchIn, builder.tsc() - 400, 77, 2);
    }
    found_ = Recorder();
    const DecodeSummary summary = decode({builder.stream()}, {2, psb_bytes + 1});
    EXPECT_EQ(summary.gap_total, 0u);
    const auto found = shares();
    ASSERT_EQ(found.size(), 20u);
    for (size_t round = 0; round < 20; ++round) {
      EXPECT_EQ(found[round], round % 2 != 0 ? std::pair(20, uint64_t{200}) : std::pair(10, uint64_t{5}));
    }
  }
}

TEST_F(ThreadsTest, WhoRanBeforeTheFirstSwitchIsKnownByWhoLeft) {
  place_.add_code(snapshot_, one_.link(), kProgramBase);
  snapshot_.streams.resize(2);
  snapshot_.streams[0].cpu = 0;
  snapshot_.streams[1].cpu = 1;
  StreamBuilder builder(timed());
  run(builder, one_, 4);
  const uint64_t between = builder.tsc() - 500;
  add(SidebandKind::kSwitchOut, between, 30, 0);
  Sideband& in = add(SidebandKind::kSwitchIn, between, 40, 1);
  in.other_pid = 31;
  in.other_tid = 32;
  run(builder, one_, 6);
  decode({builder.stream(), builder.stream()});
  const std::vector<std::pair<int32_t, uint64_t>> expected = {{30, 4}, {0, 6}, {31, 4}, {40, 6}};
  EXPECT_EQ(shares(), expected);
}

TEST_F(ThreadsTest, AThreadsStreamIsOfIt) {
  place_.add_code(snapshot_, one_.link(), kProgramBase);
  snapshot_.streams.resize(3);
  snapshot_.streams[0].pid = 5;
  snapshot_.streams[0].tid = 6;
  snapshot_.streams[1].tid = 51;
  add(SidebandKind::kTraceStart, 0, 50, -1);
  StreamBuilder builder(timed());
  run(builder, one_, 4);
  decode({builder.stream(), builder.stream(), builder.stream()});
  std::vector<FlowItem> threads;
  std::ranges::copy_if(found_.items, std::back_inserter(threads),
                       [](const FlowItem& item) { return item.kind == FlowKind::kThread; });
  ASSERT_EQ(threads.size(), 3u);
  EXPECT_EQ(threads[0], thread_item(5, 6, 1000));
  EXPECT_EQ(threads[1], thread_item(50, 51, 1000));
  EXPECT_EQ(threads[2], thread_item(0, 0, 1000));
}

// A map that the packets' time does not know yet, and one that it must not see any more.
TEST_F(ThreadsTest, MapsChangeWithTime) {
  place_.add_code(snapshot_, one_.link(), kProgramBase, -1, 0);
  StreamBuilder builder(timed());
  run(builder, one_, 5);
  place_.add_code(snapshot_, other_.link(), kProgramBase, -1, builder.tsc() - 500);
  run(builder, other_, 50);
  place_.add_code(snapshot_, one_.link(), kProgramBase + 0x10000, -1, builder.tsc() + 1'000'000);
  const DecodeSummary summary = decode({builder.stream()});
  EXPECT_EQ(summary.gap_total, 0u);
  EXPECT_EQ(summary.instructions, 55u);
}

TEST_F(ThreadsTest, CodeIsFoundThoughItsMapSeemsToComeLater) {
  place_.add_code(snapshot_, one_.link(), kProgramBase, -1, 50'000'000);
  StreamBuilder builder(timed());
  run(builder, one_, 5);
  const DecodeSummary summary = decode({builder.stream()});
  EXPECT_EQ(summary.gap_total, 0u);
  EXPECT_EQ(summary.instructions, 5u);
}

// Told once, in the stream of the process that did it.
TEST_F(ThreadsTest, ExecIsToldWhereItHappened) {
  place_.add_code(snapshot_, one_.link(), kProgramBase);
  snapshot_.streams = {{.pid = 5, .tid = 6, .pieces = {}}, {.pid = 7, .tid = 8, .pieces = {}}};
  StreamBuilder builder(timed(50));
  for (int round = 0; round < 10; ++round) run(builder, one_, 100);
  add(SidebandKind::kName, 3000, 7, -1).flags = kFlagExec;
  for (uint64_t part_bytes : {uint64_t{1}, uint64_t{1} << 20}) {
    found_ = Recorder();
    decode({builder.stream(), builder.stream()}, {2, part_bytes});
    std::vector<std::pair<uint64_t, uint64_t>> execs;
    uint64_t tid = 0;
    for (const auto& item : found_.items) {
      if (item.kind == FlowKind::kThread) tid = item.to;
      if (item.kind == FlowKind::kProgram) execs.emplace_back(tid, item.tsc);
    }
    ASSERT_EQ(execs.size(), 1u);
    EXPECT_EQ(execs[0].first, 8u);
    EXPECT_GE(execs[0].second, 3000u);
    EXPECT_LT(execs[0].second, 4000u);
  }
}

TEST_F(ThreadsTest, RecordedLossesAreGapsOnceEach) {
  place_.add_code(snapshot_, other_.link(), kProgramBase);
  snapshot_.streams.resize(2);
  snapshot_.streams[0].cpu = 0;
  snapshot_.streams[1].cpu = 1;
  StreamBuilder builder(timed(50));
  for (int round = 0; round < 10; ++round) run(builder, other_, 100);
  add(SidebandKind::kLost, 0, -1, 0).length = 12;
  add(SidebandKind::kAuxLoss, 3000, -1, 1).flags = kFlagAuxTruncated;
  add(SidebandKind::kGap, 4000, -1, 1).text = "an rseq critical section";
  add(SidebandKind::kLost, 1ULL << 60, -1, 1).length = 3;
  for (uint64_t part_bytes : {uint64_t{1}, uint64_t{1} << 20}) {
    found_ = Recorder();
    DecodeSummary summary = decode({builder.stream(), builder.stream()}, {2, part_bytes});
    EXPECT_EQ(summary.gap_total, 4u);
    EXPECT_EQ(summary.gaps[GapReason::kSidebandLost].count, 2u);
    EXPECT_EQ(summary.gaps[GapReason::kPacketsLost].count, 1u);
    EXPECT_EQ(summary.gaps[GapReason::kUnrecorded].first_cause, "an rseq critical section");
    std::vector<uint64_t> times;
    for (const auto& item : found_.items) {
      if (item.kind == FlowKind::kGap) times.push_back(item.tsc);
    }
    ASSERT_EQ(times.size(), 4u);
    EXPECT_LE(times[0], 1002u);
    EXPECT_GE(times[1], 3000u);
    EXPECT_LT(times[1], 4000u);
    EXPECT_GE(times[2], 4000u);
    EXPECT_GE(times[3], builder.tsc() - 1200);
  }
}

}  // namespace
}  // namespace fathom::snapshot
