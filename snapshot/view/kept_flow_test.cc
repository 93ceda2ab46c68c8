#include "snapshot/view/kept_flow.h"

#include <gtest/gtest.h>

#include "snapshot/decode/call_part.h"
#include "snapshot/decode/testing/scripted_extents.h"

namespace fathom::snapshot {
namespace {

class KeptFlowTest : public testing::Test {
 protected:
  void part(size_t stream, const std::vector<FlowItem>& items, KeptFlow* kept = nullptr) {
    if (kept == nullptr) kept = &kept_;
    auto part = kept->part(stream);
    part->take(std::span(items).first(items.size() / 2));
    part->take(std::span(items).subspan(items.size() / 2));
    EXPECT_TRUE(kept->merge(std::move(part)));
  }
  static FlowItem ran(uint64_t ip, uint64_t tsc) { return block_item(ip, ip + 1, 2, BlockEnd::kOther, tsc); }
  // Where it was, row by row; an end of a turn is 1, a beginning 2.
  static std::vector<uint64_t> places(const PackedFlow& flow) {
    std::vector<uint64_t> places;
    for (auto at = flow.begin(); !at.ended(); at.next()) {
      const FlowItem item = at.item();
      places.push_back(item.kind != FlowKind::kThread ? item.ip : turn_begins(item) ? 2 : 1);
    }
    return places;
  }

  KeptFlow kept_{1'000'000};
};

TEST_F(KeptFlowTest, TurnsOnSeveralProcessorsAreInTheOrderOfTime) {
  part(0, {thread_item(5, 7, 100), ran(0x10, 110), thread_item(6, 8, 150), ran(0x60, 160), thread_item(5, 7, 300)});
  part(0, {thread_item(5, 7, 300), ran(0x30, 310)});
  part(1, {thread_item(5, 7, 200), ran(0x20, 210), thread_item(0, 0, 250), ran(0x90, 260)});
  part(2, {thread_item(0, 0, 200), ran(0xa0, 210)});
  const auto threads = kept_.finish();
  ASSERT_EQ(threads.size(), 4u) << "each processor has an idle thread of its own";
  EXPECT_EQ(threads[2].key.tid, 7);
  EXPECT_EQ(places(threads[2].flow), (std::vector<uint64_t>{0x10, 1, 2, 0x20, 1, 2, 0x30}));
  const auto ended = threads[2].flow.at_item(1).item(), begun = threads[2].flow.at_item(2).item();
  EXPECT_EQ((std::pair{ended.tsc, begun.tsc}), (std::pair<uint64_t, uint64_t>{150, 200}));
  EXPECT_EQ(places(threads[3].flow), std::vector<uint64_t>{0x60});
}

TEST_F(KeptFlowTest, AThreadGoesOnFromPartToPart) {
  part(0, {thread_item(5, 7, 100), ran(0x10, 110)});
  part(0, {thread_item(5, 7, 120), ran(0x20, 130)});
  const auto threads = kept_.finish();
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(places(threads[0].flow), (std::vector<uint64_t>{0x10, 0x20}));
}

TEST_F(KeptFlowTest, TurnsInWhichNothingRanLeaveNothing) {
  std::vector<FlowItem> items;
  for (int i = 0; i < 1000; ++i) items.push_back(thread_item(5, i % 10 + 1, 100));
  part(0, items);
  EXPECT_TRUE(kept_.finish().empty());
}

TEST_F(KeptFlowTest, BeyondTheLimitRowsAreCounted) {
  KeptFlow small(50);
  std::vector<FlowItem> items{thread_item(5, 7, 100)};
  for (uint64_t i = 0; i < 100; ++i) items.push_back(ran(i, 100 + i));
  part(0, items, &small);
  const auto threads = small.finish();
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].flow.rows() + small.left_out_rows(), 200u);
  EXPECT_LE(threads[0].flow.items(), 50u);
}

}  // namespace
}  // namespace fathom::snapshot
