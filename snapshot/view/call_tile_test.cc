// Tiles of random flows, against what a tile is: every call is in it once, and those that can be told apart are.
#include "snapshot/view/call_tile.h"

#include <gtest/gtest.h>

#include <random>

#include "snapshot/decode/testing/random_program.h"

namespace fathom::snapshot {
namespace {

struct Interval {
  uint64_t start, end;
};

class TileModel {
 public:
  TileModel(const CallIndex& index, const TileQuestion& question) : index_(index), question_(question) {}

  Interval of(const Call& call) const {
    if (question_.axis == ViewAxis::kRows) return {call.first_row, call.end_row};
    return {call.start, call.end};
  }
  std::vector<Interval> visible(size_t depth) const {
    std::vector<Interval> visible;
    for (const Call& call : index_.depth(depth)) {
      if (of(call).end >= question_.from && of(call).start <= question_.to) visible.push_back(of(call));
    }
    return visible;
  }

  void check(const CallTile& tile) const {
    const uint64_t width = column_width(question_);
    for (size_t depth = question_.first_depth; depth < question_.first_depth + tile.depths; ++depth) {
      uint64_t narrow = 0, narrow_shown = 0, wide = 0, wide_shown = 0, marks = 0;
      for (const Interval& one : visible(depth)) ++(one.end - one.start >= width ? wide : narrow);
      for (const ShownCall& shown : tile.calls) {
        if (shown.depth != depth) continue;
        ++marks;
        ++(of(*shown.call).end - of(*shown.call).start >= width ? wide_shown : narrow_shown);
      }
      for (const MergedCalls& merged : tile.merged) {
        if (merged.depth != depth) continue;
        ++marks;
        narrow_shown += merged.calls;
        check_merged(merged, width);
      }
      ASSERT_EQ(wide, wide_shown);
      ASSERT_EQ(narrow, narrow_shown);
      ASSERT_LE(marks, 2 * question_.columns + 3);
    }
  }

 private:
  // It holds as many as it says, all of them narrow, and none a column apart from the next.
  void check_merged(const MergedCalls& merged, uint64_t width) const {
    uint64_t calls = 0, end = merged.start;
    for (const Interval& one : visible(merged.depth)) {
      if (one.end < merged.start || one.start > merged.end || one.end - one.start >= width) continue;
      if (calls == merged.calls) break;
      ASSERT_TRUE(one.start <= end || one.start - end < width);
      end = std::max(end, one.end);
      ++calls;
    }
    ASSERT_GT(merged.calls, 1u);
    ASSERT_EQ(calls, merged.calls);
    ASSERT_EQ(end, merged.end);
  }

  const CallIndex& index_;
  const TileQuestion question_;
};

TileQuestion random_question(std::mt19937_64& random, const PackedFlow& flow) {
  TileQuestion question;
  question.axis = random() % 2 == 0 ? ViewAxis::kTime : ViewAxis::kRows;
  const bool rows = question.axis == ViewAxis::kRows;
  const uint64_t begin = rows ? 0 : flow.first_tsc();
  const uint64_t length = (rows ? flow.rows() : flow.last_tsc()) - begin + 1;
  question.from = begin + random() % length;
  question.to = random() % 4 == 0 ? question.from : question.from + random() % (length + 20);
  if (random() % 4 == 0) question.from = 0;
  question.columns = 1 + random() % (random() % 2 == 0 ? 20 : 2000);
  question.first_depth = random() % 3 == 0 ? random() % 5 : 0;
  question.depths = 1 + random() % 30;
  return question;
}

TEST(CallTile, HoldsEveryVisibleCallOnceAndNoMoreMarksThanThePictureHasRoomFor) {
  const RandomCode code;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    CallFunctions functions(code.extents);
    BlockTable blocks;
    PackedFlow flow(blocks);
    for (const FlowItem& item : RandomProgram(code, seed).run(600)) flow.add(item);
    const CallIndex index(flow, functions, 7, UINT32_MAX);
    std::mt19937_64 random(seed);
    for (int turn = 0; turn < 40; ++turn) {
      const TileQuestion question = random_question(random, flow);
      const CallTile tile = cut_tile(index, question);
      EXPECT_EQ(tile.left_out_depths, 0u);
      TileModel(index, question).check(tile);
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << question.from << " " << question.to << " " << question.columns;
    }
  }
}

constexpr uint64_t kFunction = 0x1000;

// `calls` of a recursion that goes `depth` deep, one behind the other.
CallIndex recursion(BlockTable& blocks, CallFunctions& functions, int calls, int depth) {
  PackedFlow flow(blocks);
  uint64_t tsc = 1000;
  const auto go = [&](uint64_t ip, BlockEnd end) { flow.add(block_item(ip, ip, 1, end, tsc += 10)); };
  go(kFunction, BlockEnd::kOther);
  for (int i = 0; i < calls; ++i) {
    for (int d = 0; d < depth; ++d) {
      go(kFunction + 0x20, BlockEnd::kCall);
      flow.add(block_item(kFunction, kFunction, 1, BlockEnd::kOther, tsc += 10));
    }
    for (int d = 0; d < depth; ++d) {
      go(kFunction + 0x30, BlockEnd::kReturn);
      flow.add(block_item(kFunction + 0x21, kFunction + 0x21, 1, BlockEnd::kOther, tsc += 10));
    }
  }
  return {flow, functions, 7, UINT32_MAX};
}

TEST(CallTile, BeyondSoManyMarksTheDeepestAreLeftOut) {
  ScriptedExtents extents;
  extents.add(kFunction, 0x100);
  CallFunctions functions(extents);
  BlockTable blocks;
  const CallIndex index = recursion(blocks, functions, 3000, 20);
  ASSERT_GE(index.depths(), 20u);
  TileQuestion question{.axis = ViewAxis::kRows, .from = 0, .to = 3000 * 100, .columns = 300'000};
  const CallTile tile = cut_tile(index, question);
  EXPECT_LE(tile.calls.size() + tile.merged.size(), CallTile::kMostMarks);
  EXPECT_GT(tile.depths, 3u);
  EXPECT_EQ(tile.depths + tile.left_out_depths, index.depths());
  question.first_depth = tile.depths;
  EXPECT_GT(cut_tile(index, question).depths, 3u) << "the rest is asked for from there on";
  question = {.axis = ViewAxis::kRows, .from = 0, .to = 3000 * 100, .columns = 100};
  const CallTile coarse = cut_tile(index, question);
  EXPECT_EQ(coarse.left_out_depths, 0u);
  EXPECT_LT(coarse.calls.size() + coarse.merged.size(), 22u * 210);
}

TEST(CallTile, NarrowBreaksAreOneAndTheGapSaysWhy) {
  ScriptedExtents extents;
  extents.add(kFunction, 0x100);
  CallFunctions functions(extents);
  BlockTable blocks;
  PackedFlow flow(blocks);
  for (uint64_t i = 0; i < 10; ++i) {
    flow.add(block_item(kFunction, kFunction + 1, 2, BlockEnd::kOther, 1000 + 10 * i));
    const bool gap = i == 5;
    flow.add(event_item(gap ? FlowKind::kGap : FlowKind::kPause, kFunction + 2, 0, 1003 + 10 * i,
                        gap ? GapReason::kOverflow : GapReason::kNone));
    if (!gap) flow.add(event_item(FlowKind::kResume, kFunction, 0, 1007 + 10 * i));
  }
  const CallIndex index(flow, functions, 7, UINT32_MAX);
  const CallTile coarse = cut_tile(index, {.from = 0, .to = 2000, .columns = 10});
  ASSERT_EQ(coarse.breaks.size(), 1u);
  EXPECT_EQ(coarse.breaks[0].count, 10u);
  EXPECT_EQ(coarse.breaks[0].gap, GapReason::kOverflow);
  const CallTile fine = cut_tile(index, {.from = 1000, .to = 1100, .columns = 100});
  ASSERT_EQ(fine.breaks.size(), 10u);
  EXPECT_EQ(fine.breaks[5].gap, GapReason::kOverflow);
  EXPECT_EQ(fine.breaks[4].gap, GapReason::kNone);
}

}  // namespace
}  // namespace fathom::snapshot
