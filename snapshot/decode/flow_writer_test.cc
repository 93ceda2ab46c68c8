// Times between times, on items made by hand.
#include "snapshot/decode/flow_writer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "snapshot/decode/testing/scripted_extents.h"

namespace fathom::snapshot {
namespace {

class Times final : public FlowPart {
 public:
  void take(std::span<const FlowItem> items) override {
    for (const FlowItem& item : items) all.push_back(item.tsc);
    longest = std::max(longest, items.size());
  }
  std::vector<uint64_t> all;
  size_t longest = 0;
};

class FlowWriterTest : public testing::Test {
 protected:
  void blocks(size_t count, uint64_t tsc, BlockEnd last) {
    for (size_t i = 0; i < count; ++i) {
      writer_.put(block_item(0x1000, 0x1010, 10, i + 1 == count ? last : BlockEnd::kConditionalJump, tsc));
    }
  }
  // put() ends runs; decoders write blocks in place.
  struct Writer : FlowWriter {
    using FlowWriter::FlowWriter;
    void put(const FlowItem& item) { item.kind == FlowKind::kBlock ? void(next() = item) : FlowWriter::put(item); }
  };
  using List = std::vector<uint64_t>;
  List times() {
    writer_.flush();
    return times_.all;
  }

  Times times_;
  Writer writer_{times_, true};
};

TEST_F(FlowWriterTest, WhatRanBetweenTwoTimesIsBetween) {
  blocks(10, 1000, BlockEnd::kCall);
  writer_.time_goes_on(2000);
  blocks(1, 2000, BlockEnd::kCall);
  EXPECT_EQ(times(), (List{1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900, 2000}));
}

// Three branches of the packet ran before the time that came with it.
TEST_F(FlowWriterTest, APacketOfBranchesTellsTimeEarly) {
  blocks(10, 1000, BlockEnd::kReturn);
  writer_.time_goes_on(2000);
  blocks(10, 2000, BlockEnd::kCall);
  writer_.time_goes_on(3000);
  EXPECT_EQ(times(), (List{1000, 1070, 1140, 1210, 1280, 1350, 1420, 1490, 1560, 1630,
                           1700, 1830, 1960, 2090, 2220, 2350, 2480, 2610, 2740, 2870}));
}

TEST_F(FlowWriterTest, AFewBranchesAreBeforeTheirPacketsTime) {
  blocks(1, 1000, BlockEnd::kConditionalJump);
  writer_.time_goes_on(1600);
  blocks(6, 1600, BlockEnd::kConditionalJump);
  writer_.time_goes_on(1900);
  blocks(3, 1900, BlockEnd::kCall);
  writer_.time_goes_on(2000);
  blocks(2, 2000, BlockEnd::kCall);
  writer_.time_goes_on(2100);
  EXPECT_EQ(times(), (List{1000, 1085, 1171, 1257, 1342, 1428, 1514, 1600, 1700, 1800, 2000, 2050}));
}

// Half a packet may be more than all the time before.
TEST_F(FlowWriterTest, TimeMayBeginNearNothing) {
  blocks(10, 1, BlockEnd::kReturn);
  writer_.time_goes_on(3);
  blocks(10, 3, BlockEnd::kCall);
  writer_.time_goes_on(1'000'000);
  const List all = times();
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_EQ(all[10], 3u);
  EXPECT_LT(all.back(), 1'000'000u);
}

TEST_F(FlowWriterTest, NobodyKnowsHowLongAPauseTook) {
  blocks(10, 1000, BlockEnd::kFarCall);
  writer_.put(event_item(FlowKind::kPause, 0, 0, 1000));
  writer_.put(event_item(FlowKind::kResume, 0x1000, 0, 1000));
  writer_.time_goes_on(5000);
  blocks(10, 5000, BlockEnd::kCall);
  writer_.time_goes_on(6000);
  List expected(12, 1000);
  for (uint64_t i = 0; i < 10; ++i) expected.push_back(5000 + 100 * i);
  EXPECT_EQ(times(), expected);
}

TEST_F(FlowWriterTest, BeforeTheFirstTimeThereIsNone) {
  blocks(10, 0, BlockEnd::kCall);
  writer_.time_goes_on(1000);
  EXPECT_EQ(times(), List(10, 0));
}

TEST_F(FlowWriterTest, LongRunsWaitAndTooLongOnesDoNot) {
  blocks(10, 1000, BlockEnd::kCall);
  writer_.time_goes_on(2000);
  blocks(10'000, 2000, BlockEnd::kCall);
  writer_.time_goes_on(12'000);
  blocks(100'000, 12'000, BlockEnd::kCall);
  writer_.time_goes_on(20'000);
  blocks(10, 20'000, BlockEnd::kCall);
  writer_.time_goes_on(21'000);
  const List all = times();
  ASSERT_EQ(all.size(), 110'020u);
  EXPECT_TRUE(std::ranges::is_sorted(all));
  for (size_t i = 0; i < 10'000; ++i) ASSERT_EQ(all[10 + i], 2000 + i);
  for (size_t i = 0; i < 100'000; ++i) ASSERT_EQ(all[10'010 + i], 12'000u);
  EXPECT_EQ(all[110'019], 20'900u);
  EXPECT_LE(times_.longest, 512u);
}

TEST_F(FlowWriterTest, OrAsPacketsTellIt) {
  Writer as_told(times_, false);
  for (int i = 0; i < 10; ++i) as_told.put(block_item(0x1000, 0x1010, 10, BlockEnd::kConditionalJump, 1000));
  as_told.time_goes_on(2000);
  as_told.flush();
  EXPECT_EQ(times(), List(10, 1000));
}

}  // namespace
}  // namespace fathom::snapshot
