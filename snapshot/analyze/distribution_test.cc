#include "snapshot/analyze/distribution.h"

#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "snapshot/analyze/activity.h"
#include "snapshot/analyze/thread_moves.h"

namespace fathom::snapshot {
namespace {

TEST(Distribution, SaysWhatWasRecorded) {
  Distribution distribution;
  EXPECT_EQ(distribution_text(distribution, group_digits), "  none\n");
  for (const uint64_t value : {40, 45, 50, 50, 60, 80, 80, 80, 80, 900}) distribution.record(value);
  EXPECT_EQ(distribution.min(), 40u);
  EXPECT_EQ(distribution.max(), 900u);
  EXPECT_EQ(distribution.sum(), 1465u);
  EXPECT_NEAR(static_cast<double>(distribution.quantile(0.5)), 60, 1);
}

// Every value lies in a bar, bars touch, and there are never too many of them.
TEST(Distribution, BarsHoldEverything) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    Distribution distribution;
    const int width = static_cast<int>(random() % 64);
    const size_t count = 1 + random() % 50;
    for (size_t i = 0; i < count; ++i) distribution.record(random() >> width);
    const auto bars = distribution.bars();
    ASSERT_FALSE(bars.empty());
    ASSERT_LE(bars.size(), 24u);
    uint64_t total = 0;
    for (size_t i = 0; i < bars.size(); ++i) {
      ASSERT_LT(bars[i].low, bars[i].high);
      ASSERT_EQ(bars[i].low, i > 0 ? bars[i - 1].high : bars[i].low);
      total += bars[i].count;
    }
    ASSERT_EQ(total, count);
    ASSERT_LE(bars.front().low, distribution.min());
    ASSERT_GE(bars.back().high, distribution.max());
  }
}

TEST(Distribution, PartsAddUp) {
  Distribution whole, first, second;
  for (uint64_t value = 1; value < 1000; ++value) {
    whole.record(value);
    (value % 3 == 0 ? first : second).record(value);
  }
  first.merge(second);
  EXPECT_EQ(first.histogram(), whole.histogram());
  EXPECT_EQ(first.min(), whole.min());
  EXPECT_EQ(first.sum(), whole.sum());
}

TEST(Activity, PartsAddUpWhateverTheirSlots) {
  Activity whole, first, second;
  std::mt19937_64 random(4);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t at = 1'000'000 + random() % (i < 500 ? 1000 : 100'000'000);
    const std::string function(1, static_cast<char>('a' + random() % 5));
    whole.add(at, function, 3);
    (i < 500 ? first : second).add(at, function, 3);
  }
  first.merge(second);
  EXPECT_EQ(first.slot_width(), whole.slot_width());
  const auto wanted = whole.busiest(10);
  const auto found = first.busiest(10);
  ASSERT_EQ(found.size(), 5u);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].name, wanted[i].name);
    EXPECT_EQ(found[i].slots, wanted[i].slots);
  }
  EXPECT_LE(first.last() / first.slot_width() - first.first() / first.slot_width(), Activity::kMostSlots);
  EXPECT_EQ(whole.busiest(2).size(), 3u);
  EXPECT_EQ(whole.busiest(2).back().name, "(other)");
}

TEST(ThreadMoves, ByTheSwitchRecords) {
  Snapshot snapshot;
  const auto arrive = [&](uint64_t tsc, int32_t tid, int32_t cpu) {
    Sideband row;
    row.kind = SidebandKind::kSwitchIn;
    row.tsc = tsc;
    row.tid = tid;
    row.cpu = cpu;
    snapshot.sideband.push_back(row);
  };
  arrive(100, 7, 0);
  arrive(150, 8, 1);
  arrive(200, 7, 1);
  arrive(300, 7, 0);
  const ThreadMoves moves(snapshot);
  EXPECT_TRUE(moves.elsewhere(7, 0, 150, 350));
  EXPECT_FALSE(moves.elsewhere(7, 0, 100, 150));
  EXPECT_FALSE(moves.elsewhere(7, 0, 250, 350));
  EXPECT_FALSE(moves.elsewhere(9, 0, 0, 1000));
  EXPECT_FALSE(moves.elsewhere(7, -1, 0, 1000));
}

}  // namespace
}  // namespace fathom::snapshot
