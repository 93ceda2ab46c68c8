#include "snapshot/decode/memory_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace fathom::snapshot {
namespace {

class MemoryMapTest : public testing::Test {
 protected:
  Sideband& add(SidebandKind kind, uint64_t tsc, int32_t pid) {
    Sideband row;
    row.kind = kind;
    row.tsc = tsc;
    row.pid = row.tid = pid;
    snapshot_.sideband.push_back(row);
    return snapshot_.sideband.back();
  }
  void map(uint64_t tsc, int32_t pid, uint64_t address, uint64_t length, uint32_t image, uint64_t offset = 0) {
    snapshot_.images.resize(std::max<size_t>(snapshot_.images.size(), image + 1));
    Sideband& row = add(SidebandKind::kMap, tsc, pid);
    row.address = address;
    row.length = length;
    row.image = image;
    row.file_offset = offset;
  }
  void fork(uint64_t tsc, int32_t child, int32_t parent) { add(SidebandKind::kFork, tsc, child).other_pid = parent; }
  uint32_t image(const MemoryMap& map, int32_t pid, uint64_t tsc, uint64_t address) {
    const auto range = map.find(pid, tsc, address);
    return range ? range->image : kNoImage;
  }

  Snapshot snapshot_;
};

TEST_F(MemoryMapTest, LaterMapsWin) {
  map(0, 7, 0x1000, 0x3000, 0, 0x500);
  map(20, 7, 0x2000, 0x800, 1);
  const MemoryMap known(snapshot_);
  EXPECT_EQ(image(known, 7, 10, 0x2000), 0u);
  EXPECT_EQ(image(known, 7, 20, 0x2000), 1u);
  EXPECT_EQ(image(known, 7, 20, 0x1fff), 0u);
  const auto behind = known.find(7, 20, 0x2800);
  ASSERT_TRUE(behind);
  EXPECT_EQ(behind->image, 0u);
  EXPECT_EQ(behind->file_offset, 0x500u + 0x1800);
  EXPECT_FALSE(known.find(7, 20, 0x4000));
  EXPECT_FALSE(known.find(8, 20, 0x1000));
  EXPECT_EQ(known.ranges(7, 25).data(), known.ranges(7, 30).data());
}

TEST_F(MemoryMapTest, AForkCopiesAndAnExecBeginsAnew) {
  map(0, 7, 0x1000, 0x1000, 0);
  fork(10, 8, 7);
  map(20, 7, 0x5000, 0x1000, 1);
  add(SidebandKind::kName, 30, 8).flags = kFlagExec;
  map(31, 8, 0x9000, 0x1000, 2);
  const MemoryMap known(snapshot_);
  EXPECT_EQ(image(known, 8, 9, 0x1000), kNoImage);
  EXPECT_EQ(image(known, 8, 10, 0x1000), 0u);
  EXPECT_EQ(image(known, 8, 25, 0x5000), kNoImage);
  EXPECT_EQ(image(known, 8, 30, 0x1000), kNoImage);
  EXPECT_EQ(image(known, 8, 31, 0x9000), 2u);
  EXPECT_EQ(image(known, 7, 31, 0x1000), 0u);
}

TEST_F(MemoryMapTest, EverybodySeesTheKernelAndMapsWithoutAProcess) {
  map(0, 7, 0x1000, 0x1000, 0);
  map(0, -1, 0xffffffff81000000, 0x1000, 1);
  snapshot_.sideband.back().flags = kFlagKernel;
  map(40, -1, 0x1800, 0x1000, 2);
  const MemoryMap known(snapshot_);
  for (int32_t pid : {0, 7, 9}) EXPECT_EQ(image(known, pid, 0, 0xffffffff81000010), 1u);
  EXPECT_EQ(image(known, 7, 40, 0x1900), 0u) << "a process's own maps come first";
  EXPECT_EQ(image(known, 7, 40, 0x2100), 2u);
  EXPECT_EQ(image(known, 9, 40, 0x1900), 2u);
  EXPECT_EQ(known.ranges(7, 40).size(), 3u);
}

TEST_F(MemoryMapTest, SaysHowLongAnAnswerHoldsAndWhoComesLater) {
  map(10, 7, 0x1000, 0x1000, 0);
  map(20, 7, 0x3000, 0x1000, 1);
  Sideband& row = add(SidebandKind::kUnmap, 30, 7);
  row.address = 0x3400;
  row.length = 0x100;
  const MemoryMap known(snapshot_);
  EXPECT_EQ(known.space(7, 0).until, 10u);
  EXPECT_EQ(known.space(7, 10).until, 20u);
  EXPECT_EQ(known.space(7, 30).until, UINT64_MAX);
  EXPECT_EQ(image(known, 7, 30, 0x3450), kNoImage);
  EXPECT_EQ(known.find(7, 30, 0x3500)->file_offset, 0x500u);
  const auto later = known.later_space(7, 5, 0x3450);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->until, 30u);
  EXPECT_FALSE(known.later_space(7, 20, 0x3450));
}

TEST_F(MemoryMapTest, RangesThatWrapOrNameNoImageAreIgnoredAndCounted) {
  map(0, 7, UINT64_MAX - 10, 0x1000, 0);
  map(0, 7, 0x1000, 0, 0);
  map(0, 7, 0x1000, 0x100, 0, UINT64_MAX);
  map(0, 7, 0x1000, 0x100, 0);
  snapshot_.sideband.back().image = 77;
  const MemoryMap known(snapshot_);
  EXPECT_EQ(known.ignored(), 4u);
  EXPECT_TRUE(known.ranges(7, 0).empty());
}

// A byte by byte model of one process.
TEST_F(MemoryMapTest, AgreesWithAModel) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    snapshot_ = {};
    std::vector<std::map<uint64_t, uint32_t>> history(41);
    for (uint64_t tsc = 1; tsc <= 40; ++tsc) {
      history[tsc] = history[tsc - 1];
      const uint64_t begin = 1 + random() % 60;
      const uint64_t length = 1 + random() % 20;
      const bool unmaps = random() % 4 == 0;
      if (unmaps) {
        Sideband& row = add(SidebandKind::kUnmap, tsc, 7);
        row.address = begin;
        row.length = length;
      } else {
        map(tsc, 7, begin, length, static_cast<uint32_t>(tsc));
      }
      for (uint64_t at = begin; at < begin + length; ++at) {
        if (unmaps) {
          history[tsc].erase(at);
        } else {
          history[tsc][at] = static_cast<uint32_t>(tsc);
        }
      }
    }
    const MemoryMap known(snapshot_);
    for (uint64_t tsc = 0; tsc <= 40; ++tsc) {
      for (uint64_t at = 0; at < 90; ++at) {
        const auto expected = history[tsc].find(at);
        ASSERT_EQ(image(known, 7, tsc, at), expected == history[tsc].end() ? kNoImage : expected->second);
      }
    }
  }
}

TEST_F(MemoryMapTest, VeryManyChangesAreBounded) {
  constexpr uint64_t kFunctions = 60'000;
  for (uint64_t number = 1; number <= kFunctions; ++number) map(number, 7, number * 0x100, 0x100, 0);
  const MemoryMap known(snapshot_);
  EXPECT_EQ(known.ranges(7, kFunctions).size(), kFunctions);
  for (uint64_t number = 1; number <= kFunctions; number += 997) {
    EXPECT_TRUE(known.find(7, number, number * 0x100)) << number;
  }
}

}  // namespace
}  // namespace fathom::snapshot
