#include "snapshot/view/call_index.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "base/testing/repetitions.h"
#include "snapshot/decode/call_part.h"
#include "snapshot/decode/testing/random_program.h"

namespace fathom::snapshot {
namespace {

struct Made {
  Made(const CodeExtents& extents, const std::vector<FlowItem>& items, uint64_t most_calls = UINT32_MAX)
      : functions(extents), flow(blocks) {
    for (const FlowItem& item : items) flow.add(item);
    calls = std::make_unique<CallIndex>(flow, functions, 7, most_calls);
  }
  BlockTable blocks;
  CallFunctions functions;
  PackedFlow flow;
  std::unique_ptr<CallIndex> calls;
};

constexpr uint64_t kMain = 0x1000, kCalled = 0x2000, kOther = 0x3000;

class CallIndexTest : public testing::Test {
 protected:
  CallIndexTest() {
    for (uint64_t begin : {kMain, kCalled, kOther}) extents_.add(begin, 0x100);
  }
  void go(uint64_t ip, uint32_t count, BlockEnd end) {
    items_.push_back(block_item(ip, ip + count - 1, count, end, tsc_ += 10));
  }
  // main calls `called`, which calls `other`, twice.
  void run() {
    go(kMain, 4, BlockEnd::kCall);
    for (int turn = 0; turn < 2; ++turn) {
      go(kCalled, 3, BlockEnd::kCall);
      go(kOther, 2, BlockEnd::kReturn);
      go(kCalled + 3, 5, BlockEnd::kReturn);
      go(kMain + 4 + static_cast<uint64_t>(turn), 1, turn == 0 ? BlockEnd::kCall : BlockEnd::kOther);
    }
  }

  ScriptedExtents extents_;
  std::vector<FlowItem> items_;
  uint64_t tsc_ = 1000;
};

TEST_F(CallIndexTest, CallsHaveTheirRowsTimesAndInstructions) {
  run();
  const Made made(extents_, items_);
  const CallIndex& calls = *made.calls;
  ASSERT_EQ(calls.depths(), 3u);
  EXPECT_EQ(calls.calls(), 5u);
  const Call& main = calls.depth(0).front();
  EXPECT_EQ(calls.function(main.function).begin, kMain);
  EXPECT_EQ((std::pair{main.first_row, main.end_row}), (std::pair{0u, 26u}));
  EXPECT_EQ((std::pair{main.instructions, main.self_instructions}), (std::pair{26u, 6u}));
  EXPECT_FALSE(main.began_before) << "its first instruction was seen";
  EXPECT_TRUE(main.ended_after);
  ASSERT_EQ(calls.depth(1).size(), 2u);
  const Call& second = calls.depth(1)[1];
  EXPECT_EQ((std::pair{second.first_row, second.end_row}), (std::pair{15u, 25u}));
  EXPECT_EQ((std::pair{second.start, second.end}), (std::pair<uint64_t, uint64_t>{1060, 1090}));
  EXPECT_EQ((std::pair{second.instructions, second.self_instructions}), (std::pair{10u, 8u}));
  EXPECT_FALSE(second.ended_after);
  EXPECT_EQ(calls.depth_at(0), 1u);
  EXPECT_EQ(calls.depth_at(7), 3u);
  EXPECT_EQ(calls.at(2, 7)->first_row, 7u);
  EXPECT_EQ(calls.at(2, 9), nullptr);
}

TEST_F(CallIndexTest, ACallerThatIsDiscoveredBeganBefore) {
  go(kCalled + 8, 3, BlockEnd::kReturn);
  go(kMain + 4, 2, BlockEnd::kOther);
  const Made made(extents_, items_);
  ASSERT_EQ(made.calls->depths(), 2u);
  EXPECT_TRUE(made.calls->depth(0).front().began_before);
  EXPECT_EQ(made.calls->depth(0).front().first_row, 0u);
  EXPECT_TRUE(made.calls->depth(1).front().began_before);
  EXPECT_FALSE(made.calls->depth(1).front().ended_after);
}

TEST_F(CallIndexTest, BreaksReachToWhatRunsNext) {
  go(kMain, 2, BlockEnd::kFarCall);
  items_.push_back(event_item(FlowKind::kPause, kMain + 1, 0, 1015));
  items_.push_back(event_item(FlowKind::kResume, kMain + 2, 0, 1200));
  tsc_ = 1200;
  go(kMain + 2, 2, BlockEnd::kOther);
  items_.push_back(event_item(FlowKind::kGap, 0, 0, 1220, GapReason::kOverflow));
  items_.push_back(turn_item(false, 1230));
  items_.push_back(turn_item(true, 1300));
  tsc_ = 1300;
  go(kMain + 8, 1, BlockEnd::kOther);
  items_.push_back(event_item(FlowKind::kPause, kMain + 9, 0, 1400));
  const Made made(extents_, items_);
  const auto& breaks = made.calls->breaks();
  ASSERT_EQ(breaks.size(), 3u);
  EXPECT_EQ((std::pair{breaks[0].start, breaks[0].end}), (std::pair<uint64_t, uint64_t>{1015, 1200}));
  EXPECT_EQ(breaks[0].gap, GapReason::kNone);
  EXPECT_EQ((std::pair{breaks[1].start, breaks[1].end}), (std::pair<uint64_t, uint64_t>{1220, 1310}));
  EXPECT_EQ(breaks[1].gap, GapReason::kOverflow);
  EXPECT_EQ((std::pair{breaks[1].first_row, breaks[1].end_row}), (std::pair{6u, 9u}));
  EXPECT_EQ((std::pair{breaks[2].first_row, breaks[2].end_row}), (std::pair{10u, 11u}));
}

TEST_F(CallIndexTest, BeyondTheLimitCallsAreLeftOutAndCounted) {
  for (int i = 0; i < 100; ++i) run();
  const Made all(extents_, items_);
  const Made some(extents_, items_, 50);
  EXPECT_EQ(all.calls->left_out_calls(), 0u);
  EXPECT_LE(some.calls->calls(), 100u);
  EXPECT_GT(some.calls->left_out_calls(), 100u);
  for (size_t depth = 0; depth < some.calls->depths(); ++depth) {
    for (const Call& call : some.calls->depth(depth)) EXPECT_LE(call.end_row, some.flow.rows());
  }
}

// What a call ran itself are the instructions of which it is the innermost one, row by row.
void expect_accounted(const CallIndex& calls, const PackedFlow& flow) {
  std::map<const Call*, uint32_t> self, all;
  for (uint64_t row = 0; row < flow.rows(); ++row) {
    if (flow.at_row(row).item().kind != FlowKind::kBlock) continue;
    const size_t depths = calls.depth_at(row);
    if (depths > 0) ++self[calls.at(depths - 1, row)];
    for (size_t depth = 0; depth < depths; ++depth) ++all[calls.at(depth, row)];
  }
  for (size_t depth = 0; depth < calls.depths(); ++depth) {
    for (const Call& call : calls.depth(depth)) {
      ASSERT_EQ(call.self_instructions, self[&call]) << depth << ", row " << call.first_row;
      ASSERT_EQ(call.instructions, all[&call]) << depth << ", row " << call.first_row;
    }
  }
}

void expect_nested(const CallIndex& calls, const PackedFlow& flow) {
  for (size_t depth = 0; depth < calls.depths(); ++depth) {
    const std::vector<Call>& here = calls.depth(depth);
    for (size_t i = 0; i < here.size(); ++i) {
      const Call& call = here[i];
      ASSERT_LT(call.first_row, call.end_row);
      ASSERT_LE(call.end_row, flow.rows());
      ASSERT_LE(call.start, call.end);
      ASSERT_LE(call.self_instructions, call.instructions);
      if (i > 0) {
        ASSERT_LE(here[i - 1].end_row, call.first_row);
        ASSERT_LE(here[i - 1].end, call.start);
      }
      if (depth == 0) continue;
      const Call* caller = calls.at(depth - 1, call.first_row);
      ASSERT_NE(caller, nullptr);
      ASSERT_LE(call.end_row, caller->end_row);
      ASSERT_LE(call.end, caller->end);
      ASSERT_GE(call.start, caller->start);
    }
  }
}

TEST(CallIndexModel, CallsNestAndAccountForEveryInstruction) {
  const RandomCode code;
  for (uint64_t seed = 1; seed <= repetitions(300); ++seed) {
    SCOPED_TRACE(seed);
    const Made made(code.extents, RandomProgram(code, seed).run(400));
    expect_nested(*made.calls, made.flow);
    expect_accounted(*made.calls, made.flow);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace fathom::snapshot
