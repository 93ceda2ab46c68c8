#include "snapshot/view/packed_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace fathom::snapshot {
namespace {

FlowItem block(uint64_t ip, uint32_t count, uint64_t tsc) {
  FlowItem item;
  item.ip = ip;
  item.to = ip + count - 1;
  item.count = count;
  item.tsc = tsc;
  return item;
}

FlowItem gap(uint64_t tsc) {
  FlowItem item;
  item.kind = FlowKind::kGap;
  item.reason = GapReason::kOverflow;
  item.tsc = tsc;
  return item;
}

// A flow as it comes, with time that stands still, leaps, and goes back.
std::vector<FlowItem> random_flow(unsigned seed, size_t items) {
  std::mt19937 random(seed);
  std::vector<FlowItem> flow;
  uint64_t tsc = random() % 3 == 0 ? 0 : 1000;
  for (size_t i = 0; i < items; ++i) {
    if (tsc != 0 || random() % 8 == 0) tsc += random() % 4 == 0 ? random() % 50 : 0;
    if (random() % 300 == 0) tsc += 5'000'000'000;
    const uint64_t told = random() % 40 == 0 && tsc > 7 ? tsc - 7 : tsc;
    flow.push_back(random() % 20 == 0 ? gap(told) : block(0x1000 + random() % 64, random() % 9, told));
  }
  return flow;
}

// The same, one row after the other.
struct Model {
  explicit Model(const std::vector<FlowItem>& flow) {
    uint64_t last = 0;
    const auto told =
        std::ranges::find_if(flow, [](const FlowItem& item) { return item.tsc != 0 && rows_of(item) > 0; });
    for (FlowItem item : flow) {
      if (rows_of(item) == 0) continue;
      if (last == 0 && told != flow.end()) last = told->tsc;
      item.tsc = last = std::max(last, item.tsc);
      items.push_back(item);
    }
    for (size_t i = 0; i < items.size(); ++i) add_rows(i);
  }
  void add_rows(size_t i) {
    const bool spreads = i + 1 < items.size() && items[i + 1].kind != FlowKind::kGap;
    const uint64_t until = spreads ? items[i + 1].tsc : items[i].tsc;
    for (uint64_t k = 0; k < rows_of(items[i]); ++k) {
      item_of_row.push_back(i);
      row_tsc.push_back(items[i].tsc + (until - items[i].tsc) * k / rows_of(items[i]));
    }
  }
  uint64_t row_at(uint64_t tsc) const {
    const auto later = std::ranges::upper_bound(row_tsc, tsc);
    return later == row_tsc.begin() ? 0 : static_cast<uint64_t>(later - row_tsc.begin()) - 1;
  }

  std::vector<FlowItem> items;
  std::vector<size_t> item_of_row;
  std::vector<uint64_t> row_tsc;
};

TEST(PackedFlow, FindsEveryRowAndTimeAsAModelDoes) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    BlockTable blocks;
    PackedFlow flow(blocks);
    const auto items = random_flow(seed, 1500);
    for (const FlowItem& item : items) flow.add(item);
    const Model model(items);
    ASSERT_EQ(flow.rows(), model.item_of_row.size());
    ASSERT_EQ(flow.items(), model.items.size());
    size_t i = 0;
    for (auto at = flow.begin(); !at.ended(); at.next(), ++i) ASSERT_EQ(at.item(), model.items[i]);
    for (uint64_t row = 0; row < flow.rows(); ++row) {
      const auto at = flow.at_row(row);
      ASSERT_EQ(at.number(), model.item_of_row[row]);
      ASSERT_EQ(flow.row_tsc(at, row - at.row()), model.row_tsc[row]);
      ASSERT_EQ(flow.at_item(at.number()).row(), at.row());
    }
    EXPECT_TRUE(flow.at_row(flow.rows()).ended());
    std::mt19937 random(seed);
    for (int n = 0; n < 500; ++n) {
      const uint64_t tsc = model.row_tsc[random() % model.row_tsc.size()] + random() % 3 - 1;
      ASSERT_EQ(flow.row_at_tsc(tsc), model.row_at(tsc)) << tsc;
    }
    EXPECT_EQ(flow.row_at_tsc(0), model.row_at(0));
    EXPECT_EQ(flow.row_at_tsc(UINT64_MAX), flow.rows() - 1);
  }
}

TEST(PackedFlow, WhatIsPutBehindIsAsIfAddedThere) {
  BlockTable blocks;
  PackedFlow once(blocks), first(blocks), second(blocks);
  const auto items = random_flow(3, 1000);
  for (size_t i = 0; i < items.size(); ++i) {
    once.add(items[i]);
    (i < 400 ? first : second).add(items[i]);
  }
  first.append(second);
  ASSERT_EQ(first.rows(), once.rows());
  EXPECT_EQ(first.instructions(), once.instructions());
  EXPECT_EQ(first.gaps(), once.gaps());
  for (auto a = first.begin(), b = once.begin(); !a.ended(); a.next(), b.next()) ASSERT_EQ(a.item(), b.item());
}

TEST(PackedFlow, TakesEightBytesAnItem) {
  BlockTable blocks;
  PackedFlow flow(blocks);
  for (uint64_t i = 0; i < 1'000'000; ++i) flow.add(block(0x1000 + i % 100, 5, 1000 + i));
  EXPECT_EQ(flow.rows(), 5'000'000u);
  EXPECT_EQ(blocks.size(), 100u);
  EXPECT_LT(flow.bytes(), 18'000'000u) << "a vector may hold room for twice of it";
}

TEST(PackedFlow, WithoutAnythingThereIsNothingToFind) {
  BlockTable blocks;
  const PackedFlow flow(blocks);
  EXPECT_TRUE(flow.begin().ended());
  EXPECT_TRUE(flow.at_row(0).ended());
  EXPECT_TRUE(flow.at_tsc(5).ended());
  EXPECT_EQ(flow.row_at_tsc(5), 0u);
}

}  // namespace
}  // namespace fathom::snapshot
