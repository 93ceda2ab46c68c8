// The rules of the stack, one by one, on flow made by hand.
#include <gtest/gtest.h>

#include "snapshot/decode/call_stack.h"
#include "snapshot/decode/testing/call_text.h"
#include "snapshot/decode/testing/scripted_extents.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kMain = 0x1000, kWork = 0x2000, kLeaf = 0x3000, kHandler = 0x4000, kStub = 0x8000;
constexpr uint64_t kUnnamed = 0x9000, kKernelEntry = 0xffffffff81000000, kKernelWork = 0xffffffff81001000;

class CallRules : public testing::Test {
 protected:
  CallRules() {
    for (uint64_t at : {kMain, kWork, kLeaf, kHandler, kKernelEntry, kKernelWork}) extents_.add(at, 0x100);
    extents_.add(kStub, 0x10, true, true);
    extents_.add(kUnnamed, 0x800, false);
  }

  // A block of two instructions, `to` the last; ten ticks later than the one before.
  void block(uint64_t ip, uint64_t to, BlockEnd end) { items_.push_back(block_item(ip, to, 2, end, tsc_ += 10)); }
  void event(FlowKind kind, uint64_t ip = 0, uint64_t to = 0, GapReason reason = GapReason::kNone) {
    items_.push_back(event_item(kind, ip, to, tsc_ += 10, reason));
  }
  void expect(const std::string& tree) {
    CallStacks stacks(Snapshot{}, extents_, {});
    auto part = stacks.part(0);
    const std::vector<FlowItem> first{thread_item(1, 1, 100)};
    part->take(first);
    part->take(items_);
    stacks.merge(std::move(part));
    stacks.finish();
    ASSERT_EQ(stacks.threads().size(), 1u);
    EXPECT_EQ(tree_text(*stacks.threads()[0].tree), tree);
  }

  ScriptedExtents extents_;
  std::vector<FlowItem> items_;
  uint64_t tsc_ = 100;
};

TEST_F(CallRules, CallsAndReturnsNestAndTakeTime) {
  block(kMain + 8, kMain + 16, BlockEnd::kCall);
  block(kWork, kWork + 4, BlockEnd::kCall);
  block(kLeaf, kLeaf + 4, BlockEnd::kReturn);
  block(kWork + 9, kWork + 12, BlockEnd::kReturn);
  block(kMain + 21, kMain + 30, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 4, ticks 10\n"
      "  2000: calls 1, insns 4, ticks 20, complete 1, in 30, min 30, max 30\n"
      "   3000: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n");
}

// From the first packet that tells time to where recording was switched on, nobody ran.
TEST_F(CallRules, TimeBeginsWithTheFirstInstruction) {
  tsc_ = 5000;
  event(FlowKind::kGap, 0, 0, GapReason::kPacketsLost);
  tsc_ = 6000;
  event(FlowKind::kResume, kMain + 8);
  block(kMain + 8, kMain + 16, BlockEnd::kReturn);
  block(kWork + 9, kWork + 12, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 2000: insns 2\n"
      "  1000: insns 2, ticks 20\n"
      " [packets lost]: calls 1, ticks 1000\n");
}

TEST_F(CallRules, RecordingBeginsWithACall) {
  event(FlowKind::kResume, kWork);
  block(kWork, kWork + 4, BlockEnd::kCall);
  block(kLeaf, kLeaf + 4, BlockEnd::kReturn);
  block(kWork + 9, kWork + 12, BlockEnd::kReturn);
  event(FlowKind::kPause, kMain + 21);
  event(FlowKind::kResume, kWork);
  block(kWork, kWork + 12, BlockEnd::kReturn);
  event(FlowKind::kPause, kMain + 21);
  expect(
      "thread: \n"
      " 1000: pauses 2, paused 10\n"
      "  2000: calls 2, insns 6, ticks 50, complete 2, in 60, min 20, max 40\n"
      "   3000: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n");
}

// It may have been under way for long.
TEST_F(CallRules, BehindAGapNoCallIsSeenToBegin) {
  event(FlowKind::kResume, kMain + 8);
  block(kMain + 8, kMain + 16, BlockEnd::kOther);
  event(FlowKind::kGap, 0, 0, GapReason::kOverflow);
  event(FlowKind::kResume, kWork);
  block(kWork, kWork + 4, BlockEnd::kReturn);
  block(kLeaf + 8, kLeaf + 12, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 2, ticks 20\n"
      " [overflow]: calls 1, ticks 10\n"
      "  3000: insns 2\n"
      "   2000: insns 2, ticks 20\n");
}

// Each window of a function is a call of it, whatever the one before left open.
TEST_F(CallRules, EachWindowBeginsWithACall) {
  event(FlowKind::kResume, kWork);
  block(kWork, kWork + 4, BlockEnd::kCall);
  block(kLeaf, kLeaf + 4, BlockEnd::kReturn);
  block(kWork + 9, kWork + 12, BlockEnd::kReturn);
  event(FlowKind::kPause, kMain + 21);
  event(FlowKind::kGap, 0, 0, GapReason::kBetweenWindows);
  event(FlowKind::kResume, kWork);
  block(kWork, kWork + 12, BlockEnd::kReturn);
  event(FlowKind::kPause, kMain + 51);
  event(FlowKind::kGap, 0, 0, GapReason::kBetweenWindows);
  event(FlowKind::kResume, kWork);
  block(kWork, kWork + 4, BlockEnd::kCall);
  block(kLeaf, kLeaf + 3, BlockEnd::kOther);
  event(FlowKind::kPause, kLeaf + 4);
  event(FlowKind::kGap, 0, 0, GapReason::kBetweenWindows);
  event(FlowKind::kResume, kWork);
  block(kWork, kWork + 12, BlockEnd::kReturn);
  event(FlowKind::kPause, kHandler + 21);
  expect(
      "thread: \n"
      " 1000: pauses 2, paused 20\n"
      "  2000: calls 2, insns 6, ticks 50, complete 2, in 60, min 20, max 40\n"
      "   3000: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n"
      " 2000: calls 1, insns 2, ticks 20\n"
      "  3000: calls 1, insns 2, ticks 10, pauses 1, paused 10\n"
      " 4000: pauses 1\n"
      "  2000: calls 1, insns 2, ticks 20, complete 1, in 20, min 20, max 20\n"
      " [between windows]: calls 3, ticks 30\n");
}

TEST_F(CallRules, AnotherProgramIsCalledByNobody) {
  block(kMain, kMain + 16, BlockEnd::kCall);
  block(kWork, kWork + 4, BlockEnd::kFarCall);
  event(FlowKind::kPause, kWork + 4);
  event(FlowKind::kProgram);
  event(FlowKind::kResume, kHandler);
  block(kHandler, kHandler + 4, BlockEnd::kCall);
  block(kLeaf, kLeaf + 4, BlockEnd::kReturn);
  block(kHandler + 9, kHandler + 12, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 2, ticks 10\n"
      "  2000: calls 1, insns 2, ticks 10, pauses 1, paused 20\n"
      " 4000: calls 1, insns 4, ticks 20\n"
      "  3000: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n");
}

// Where the kernel is recorded, the rest of what it does is still the old program's.
TEST_F(CallRules, AnotherProgramBeginsBehindTheKernel) {
  block(kMain, kMain + 16, BlockEnd::kFarCall);
  block(kKernelEntry, kKernelEntry + 4, BlockEnd::kCall);
  block(kKernelWork, kKernelWork + 3, BlockEnd::kConditionalJump);
  event(FlowKind::kProgram);
  block(kKernelWork + 4, kKernelWork + 8, BlockEnd::kReturn);
  block(kKernelEntry + 9, kKernelEntry + 12, BlockEnd::kFarReturn);
  block(kWork, kWork + 4, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 2, ticks 10\n"
      "  ffffffff81000000: calls 1, insns 4, ticks 20\n"
      "   ffffffff81001000: calls 1, insns 4, ticks 30, complete 1, in 30, min 30, max 30\n"
      " 2000: calls 1, insns 2\n");
}

TEST_F(CallRules, ATailCallTakesTheFrameOver) {
  block(kMain, kMain + 16, BlockEnd::kCall);
  block(kWork, kWork + 4, BlockEnd::kJump);
  block(kLeaf, kLeaf + 4, BlockEnd::kReturn);
  block(kMain + 21, kMain + 30, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 4, ticks 10\n"
      "  2000: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n"
      "  3000: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n");
}

TEST_F(CallRules, AStubBelongsToItsCaller) {
  block(kMain, kMain + 16, BlockEnd::kCall);
  block(kStub, kStub + 4, BlockEnd::kJump);
  block(kLeaf, kLeaf + 4, BlockEnd::kReturn);
  block(kMain + 21, kMain + 30, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 6, ticks 20\n"
      "  3000: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n");
}

TEST_F(CallRules, ALandingPadIsInAnOuterFrame) {
  for (BlockEnd way : {BlockEnd::kJump, BlockEnd::kReturn}) {
    items_.clear();
    tsc_ = 100;
    block(kMain, kMain + 16, BlockEnd::kCall);
    block(kWork, kWork + 4, BlockEnd::kCall);
    block(kLeaf, kLeaf + 4, way);
    block(kMain + 0x80, kMain + 0x84, BlockEnd::kCall);
    block(kLeaf, kLeaf + 4, BlockEnd::kReturn);
    block(kMain + 0x89, kMain + 0x90, BlockEnd::kOther);
    expect(
        "thread: \n"
        " 1000: insns 6, ticks 20\n"
        "  2000: calls 1, insns 2, ticks 10\n"
        "   3000: calls 1, insns 2, ticks 10\n"
        "  3000: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n");
  }
}

TEST_F(CallRules, ASignalInterruptsAndGoesBack) {
  block(kMain, kMain + 16, BlockEnd::kCall);
  block(kWork, kWork + 4, BlockEnd::kOther);
  event(FlowKind::kInterrupt, kWork + 5, kHandler);
  block(kHandler, kHandler + 4, BlockEnd::kReturn);
  block(kUnnamed + 0x700, kUnnamed + 0x707, BlockEnd::kFarCall);
  event(FlowKind::kPause, 0);
  event(FlowKind::kResume, kWork + 5);
  block(kWork + 5, kWork + 9, BlockEnd::kReturn);
  block(kMain + 21, kMain + 30, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 4, ticks 10\n"
      "  2000: calls 1, insns 4, ticks 30, complete 1, in 70, min 70, max 70\n"
      "   4000: calls 1, insns 2, ticks 20, complete 1, in 20, min 20, max 20\n"
      "   9000?: insns 2, ticks 10, pauses 1, paused 10\n");
}

TEST_F(CallRules, ASystemCallIsAPauseOrAFrameOfTheKernel) {
  block(kMain, kMain + 16, BlockEnd::kFarCall);
  event(FlowKind::kPause, kMain + 16);
  event(FlowKind::kResume, kMain + 18);
  block(kMain + 18, kMain + 20, BlockEnd::kFarCall);
  block(kKernelEntry, kKernelEntry + 4, BlockEnd::kCall);
  block(kKernelWork, kKernelWork + 4, BlockEnd::kReturn);
  block(kKernelEntry + 9, kKernelEntry + 12, BlockEnd::kFarReturn);
  block(kMain + 22, kMain + 30, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 6, ticks 30, pauses 1, paused 10\n"
      "  ffffffff81000000: calls 1, insns 4, ticks 20, complete 1, in 30, min 30, max 30\n"
      "   ffffffff81001000: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n");
}

TEST_F(CallRules, BehindAGapFramesAppearAgain) {
  block(kMain, kMain + 16, BlockEnd::kCall);
  block(kWork, kWork + 4, BlockEnd::kOther);
  event(FlowKind::kGap, 0, 0, GapReason::kOverflow);
  event(FlowKind::kGap, 0, 0, GapReason::kOverflow);
  block(kLeaf + 8, kLeaf + 12, BlockEnd::kReturn);
  block(kWork + 0x50, kWork + 0x54, BlockEnd::kReturn);
  block(kMain + 21, kMain + 30, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 4, ticks 10\n"
      "  2000: calls 1, insns 4, ticks 20, complete 1, in 50, min 50, max 50\n"
      " [overflow]: calls 2, ticks 20\n"
      "  3000: insns 2, ticks 10\n");
}

TEST_F(CallRules, ACallerIsDiscoveredByAReturn) {
  block(kLeaf + 8, kLeaf + 12, BlockEnd::kReturn);
  block(kWork + 0x50, kWork + 0x54, BlockEnd::kReturn);
  block(kMain + 21, kMain + 30, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 2\n"
      "  2000: insns 2, ticks 10\n"
      "   3000: insns 2, ticks 10\n");
}

TEST_F(CallRules, ARetpolineIsAJump) {
  block(kMain, kMain + 16, BlockEnd::kCall);
  block(kHandler, kHandler + 4, BlockEnd::kCall);  // the thunk calls into itself
  block(kHandler + 12, kHandler + 20, BlockEnd::kReturn);
  block(kWork, kWork + 4, BlockEnd::kReturn);
  block(kMain + 21, kMain + 30, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 4, ticks 10\n"
      "  2000: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n"
      "  4000: calls 1, insns 2, ticks 10, complete 1, in 20, min 20, max 20\n"
      "   4000: calls 1, insns 2, ticks 10\n");
}

TEST_F(CallRules, CodeWithoutSymbolsIsKnownByWhereItWasCalled) {
  block(kMain, kMain + 16, BlockEnd::kCall);
  block(kUnnamed + 0x10, kUnnamed + 0x20, BlockEnd::kJump);
  block(kUnnamed + 0x100, kUnnamed + 0x104, BlockEnd::kCall);
  block(kUnnamed + 0x40, kUnnamed + 0x44, BlockEnd::kReturn);
  block(kUnnamed + 0x109, kUnnamed + 0x120, BlockEnd::kReturn);
  block(kMain + 21, kMain + 30, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 4, ticks 10\n"
      "  9010+: calls 1, insns 6, ticks 30, complete 1, in 40, min 40, max 40\n"
      "   9040+: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n");
}

// As at the end of a stripped program: its code is one stretch, from _start far below to what exit() jumps to.
TEST_F(CallRules, AJumpIntoCodeWithoutSymbolsIsATailCall) {
  block(kUnnamed, kUnnamed + 16, BlockEnd::kCall);
  block(kMain, kMain + 16, BlockEnd::kCall);
  block(kWork, kWork + 4, BlockEnd::kJump);
  block(kUnnamed + 0x700, kUnnamed + 0x704, BlockEnd::kReturn);
  block(kMain + 21, kMain + 30, BlockEnd::kReturn);
  block(kUnnamed + 21, kUnnamed + 30, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 9000?: insns 4, ticks 10\n"
      "  1000: calls 1, insns 4, ticks 20, complete 1, in 40, min 40, max 40\n"
      "   2000: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n"
      "   9700+: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n");
}

TEST_F(CallRules, AJumpToWhereACallCameBackToIsALongjmp) {
  block(kMain, kMain + 16, BlockEnd::kCall);
  block(kUnnamed, kUnnamed + 16, BlockEnd::kCall);  // setjmp()
  block(kLeaf, kLeaf + 4, BlockEnd::kReturn);
  block(kUnnamed + 21, kUnnamed + 30, BlockEnd::kCall);
  block(kWork, kWork + 4, BlockEnd::kCall);
  block(kHandler, kHandler + 4, BlockEnd::kJump);
  block(kUnnamed + 21, kUnnamed + 40, BlockEnd::kReturn);
  block(kMain + 21, kMain + 30, BlockEnd::kOther);
  expect(
      "thread: \n"
      " 1000: insns 4, ticks 10\n"
      "  9000+: calls 1, insns 6, ticks 30, complete 1, in 60, min 60, max 60\n"
      "   2000: calls 1, insns 2, ticks 10\n"
      "    4000: calls 1, insns 2, ticks 10\n"
      "   3000: calls 1, insns 2, ticks 10, complete 1, in 10, min 10, max 10\n");
}

TEST_F(CallRules, RunawayRecursionHasAnEnd) {
  block(kMain, kMain + 16, BlockEnd::kCall);
  for (int i = 0; i < 600'000; ++i) block(kWork, kWork + 4, BlockEnd::kCall);
  CallStacks stacks(Snapshot{}, extents_, {});
  auto part = stacks.part(0);
  const std::vector<FlowItem> first{thread_item(1, 1, 100)};
  part->take(first);
  part->take(items_);
  stacks.merge(std::move(part));
  stacks.finish();
  const CallTree& tree = *stacks.threads()[0].tree;
  uint64_t instructions = 0;
  for (const CallNode& node : tree.nodes()) instructions += node.stats.instructions;
  EXPECT_EQ(instructions, 2 * 600'001u);
  EXPECT_LT(tree.size(), 2000u);
}

// A thread that goes from one processor to another and back is put together by time.
TEST_F(CallRules, AThreadMovesBetweenProcessors) {
  Snapshot snapshot;
  for (int32_t cpu : {0, 1, 0}) {
    Sideband row;
    row.kind = SidebandKind::kSwitchIn;
    row.tid = 1;
    row.cpu = cpu;
    snapshot.sideband.push_back(row);
  }
  CallStacks stacks(snapshot, extents_, {});
  auto give = [&](size_t stream, std::vector<FlowItem> items) {
    auto part = stacks.part(stream);
    part->take(items);
    stacks.merge(std::move(part));
  };
  give(0, {thread_item(1, 1, 100), block_item(kMain, kMain + 16, 2, BlockEnd::kCall, 110), thread_item(2, 2, 120),
           thread_item(1, 1, 200), block_item(kWork + 9, kWork + 12, 2, BlockEnd::kReturn, 210),
           block_item(kMain + 21, kMain + 30, 2, BlockEnd::kOther, 220)});
  give(1, {thread_item(1, 1, 130), block_item(kWork, kWork + 4, 2, BlockEnd::kCall, 140),
           block_item(kLeaf, kLeaf + 4, 2, BlockEnd::kReturn, 150), thread_item(3, 3, 160)});
  stacks.finish();
  ASSERT_EQ(stacks.threads().size(), 1u);
  EXPECT_EQ(tree_text(*stacks.threads()[0].tree),
            "thread: \n"
            " 1000: insns 4, ticks 20, pauses 1, paused 10\n"
            "  2000: calls 1, insns 4, ticks 20, complete 1, in 80, min 80, max 80\n"
            "   3000: calls 1, insns 2, ticks 20, pauses 1, paused 40, complete 1, in 60, min 60, max 60\n");
}

}  // namespace
}  // namespace fathom::snapshot
