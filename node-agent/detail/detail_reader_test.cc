#include "node-agent/detail/detail_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "node-agent/testing/detail_events.h"

namespace fathom::agent {
namespace {

using testing::numbered_record;
using testing::open_detail;
using testing::ScriptedDetail;

constexpr uint64_t kPlenty = 1 << 30;
using Numbers = std::vector<uint64_t>;

Numbers numbers_of(const DetailSnapshot& snapshot) {
  Numbers numbers;
  decode(snapshot, [&](const EventView& event) {
    std::optional<uint64_t> number = testing::number_of(event);
    EXPECT_TRUE(number) << "torn";
    numbers.push_back(number.value_or(0));
  });
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

class DetailReaderTest : public ::testing::Test {
 protected:
  explicit DetailReaderTest(const testing::DetailPlan& plan = {.large = 16, .small = 16}) : pool_(plan) {
    testing::describe_numbered(pool_);
  }
  // Events first * 10 to last * 10 + 9, of which each takes a tick.
  void fill(uint32_t chunk, uint64_t number, bool seal, size_t fill_bytes = 0) {
    pool_.claim(chunk, number * 10);
    for (uint64_t n = number * 10; n < number * 10 + 10; ++n) {
      ASSERT_TRUE(pool_.put(chunk, numbered_record(n, n, fill_bytes)));
    }
    if (seal) pool_.seal(chunk, number * 10 + 9);
  }
  DetailReader reader(std::function<void()> step = {}) { return DetailReader(open_detail(pool_), std::move(step)); }
  Numbers tens(std::initializer_list<uint64_t> numbers) {
    Numbers all;
    for (uint64_t number : numbers) {
      for (uint64_t n = number * 10; n < number * 10 + 10; ++n) all.push_back(n);
    }
    return all;
  }
  ScriptedDetail pool_;
};

TEST_F(DetailReaderTest, ReadsSealedAndOpenChunks) {
  fill(0, 1, true);
  fill(1, 2, false);
  fill(17, 3, true);
  fill(18, 4, false);
  pool_.header().losses[pool::kLostNoChunk].store(3);
  DetailSnapshot snapshot = reader().snapshot({}, kPlenty);
  EXPECT_EQ(numbers_of(snapshot), tens({1, 2, 3, 4}));
  EXPECT_EQ(snapshot.chunks.size(), 4u);
  EXPECT_EQ(std::count_if(snapshot.chunks.begin(), snapshot.chunks.end(), [](const auto& c) { return c.open; }), 2);
  EXPECT_EQ(snapshot.losses.list(), (std::vector<std::pair<std::string, uint64_t>>{{"no_chunk", 3}}));
  EXPECT_EQ(pool_.state(0), pool::kDetailSealed);
  EXPECT_EQ(pool_.state(1), pool::kDetailOwned);
}

// Signal handlers within one another have reserved space in an open chunk, and only the innermost has written its
// records.
TEST_F(DetailReaderTest, ReadsBehindWhatIsReservedAndNotYetWritten) {
  fill(0, 1, false);
  for (int handler = 0; handler < 3; ++handler) ASSERT_TRUE(pool_.reserve(0, pool::kMostEventBytes));
  ASSERT_TRUE(pool_.put(0, numbered_record(20, 20)));
  for (uint64_t n = 21; pool_.used(0) < 40'000; ++n) ASSERT_TRUE(pool_.put(0, numbered_record(n, n)));
  const Numbers numbers = numbers_of(reader().snapshot({}, kPlenty));
  EXPECT_EQ(numbers.front(), 10u);
  EXPECT_EQ(numbers.size(), numbers.back() - 9);
  EXPECT_GT(numbers.back(), 500u);
}

TEST_F(DetailReaderTest, ChunksCarryWhatTheirEntriesSay) {
  fill(3, 5, true);
  pool_.entry(3).owner_tid.store(77);
  DetailSnapshot snapshot = reader().snapshot({}, kPlenty);
  ASSERT_EQ(snapshot.chunks.size(), 1u);
  const ChunkView& view = snapshot.chunks[0].view;
  EXPECT_EQ(snapshot.chunks[0].number, 3u);
  EXPECT_EQ(view.epoch, pool_.epoch(3));
  EXPECT_EQ(view.owner_tid, 77u);
  EXPECT_EQ(view.first_ticks, 50u);
  EXPECT_EQ(view.last_ticks, 59u);
  EXPECT_EQ(view.bytes.size(), pool_.used(3));
}

TEST_F(DetailReaderTest, OnlyWhatOverlapsTheWindow) {
  for (uint32_t n = 0; n < 6; ++n) fill(n, n, true);
  fill(17, 0, false);  // open: who knows
  DetailSnapshot snapshot = reader().snapshot({25, 41}, kPlenty);
  EXPECT_EQ(snapshot.chunks.size(), 4u);
  Numbers expected;
  for (uint64_t n = 25; n <= 41; ++n) expected.push_back(n);
  EXPECT_EQ(numbers_of(snapshot), expected);
}

TEST_F(DetailReaderTest, BeyondTheBudgetTheYoungestAreKept) {
  for (uint32_t n = 0; n < 6; ++n) fill(5 - n, n, true, 80);
  fill(17, 9, false, 80);
  uint64_t each = pool_.used(0);
  ASSERT_EQ(pool::kSmallBytes / each, 3u);
  DetailSnapshot snapshot = reader().snapshot({}, pool::kSmallBytes);
  EXPECT_EQ(numbers_of(snapshot), tens({4, 5, 9}));
  EXPECT_EQ(snapshot.bytes(), 3 * each);
  EXPECT_EQ(snapshot.losses.over_budget_chunks, 4u);
  EXPECT_EQ(snapshot.losses.over_budget_bytes, 4 * each);
  EXPECT_EQ(reader().snapshot({}, 0).losses.over_budget_chunks, 7u);
}

TEST_F(DetailReaderTest, SaysUntilWhenEventsMayBeMissing) {
  for (uint32_t n = 0; n < 6; ++n) fill(n, n, true, 80);
  EXPECT_EQ(reader().snapshot({}, kPlenty).missing_until_ticks, 0u) << "nothing was overwritten";
  fill(2, 7, true, 80);
  fill(1, 8, true, 80);
  EXPECT_EQ(reader().snapshot({}, kPlenty).missing_until_ticks, 29u);
  uint64_t two = 2 * pool_.used(0);
  EXPECT_EQ(reader().snapshot({}, two).missing_until_ticks, 59u) << "the youngest that the budget leaves out";
  fill(17, 9, false, 80);
  EXPECT_EQ(reader().snapshot({}, 100).missing_until_ticks, UINT64_MAX) << "of an open chunk nobody knows";
}

TEST_F(DetailReaderTest, AnOpenChunkThatIsClaimedAnewMeanwhileIsDropped) {
  fill(1, 2, false);
  int steps = 0;
  DetailSnapshot snapshot = reader([&] {
                              if (++steps != 35) return;  // between its two copies
                              pool_.seal(1, 29);
                              fill(1, 7, false);
                            }).snapshot({}, kPlenty);
  ASSERT_GT(steps, 35);
  EXPECT_EQ(snapshot.chunks.size(), 0u);
  EXPECT_EQ(snapshot.losses.overwritten_chunks, 1u);
}

TEST_F(DetailReaderTest, AChunkThatIsTakenFromAVoidReaderIsDropped) {
  fill(1, 2, true);
  bool taken = false;
  DetailSnapshot snapshot = reader([&] {
                              if (pool_.state(1) != pool::kDetailReading || taken) return;
                              taken = true;
                              pool_.header().reader.store(2);
                              fill(1, 7, true);
                            }).snapshot({}, kPlenty);
  EXPECT_TRUE(taken);
  EXPECT_EQ(snapshot.chunks.size(), 0u);
  EXPECT_EQ(snapshot.losses.overwritten_chunks, 1u);
}

TEST_F(DetailReaderTest, WhatIsHeldIsNeitherTooMuchNorInARow) {
  for (uint32_t n = 0; n < 32; ++n) fill(n, n, true);
  uint32_t most = 0, longest = 0;
  DetailSnapshot snapshot = reader([&] {
                              uint32_t held[2] = {}, row = 0;
                              for (uint32_t n = 0; n < 32; ++n) {
                                bool is_held = pool_.state(n) == pool::kDetailReading;
                                held[n / 16] += is_held ? 1 : 0;
                                row = is_held && n != 16 ? row + 1 : 0;
                                longest = std::max(longest, row);
                              }
                              most = std::max({most, held[0], held[1]});
                            }).snapshot({}, kPlenty);
  EXPECT_EQ(snapshot.chunks.size(), 32u);
  EXPECT_EQ(most, 4u) << "a quarter";
  EXPECT_LE(longest, 3u);
  EXPECT_GE(longest, 1u);
}

// Another thread goes on in a chunk that was sealed, under the same epoch.
TEST_F(DetailReaderTest, AChunkThatIsAdoptedMeanwhileIsReadAsAnOpenOne) {
  fill(17, 1, true);
  bool adopted = false;
  DetailSnapshot snapshot = reader([&] {
                              if (adopted || pool_.state(17) == pool::kDetailReading) return;
                              adopted = true;
                              uint32_t epoch = pool_.epoch(17);
                              pool_.entry(17).state.store(pool::pack_detail(epoch, pool::kDetailOwned));
                              pool_.put(17, numbered_record(20, 20));
                            }).snapshot({}, kPlenty);
  Numbers numbers = numbers_of(snapshot);
  EXPECT_EQ(numbers.front(), 10u);
  EXPECT_GE(numbers.size(), 10u);
}

TEST_F(DetailReaderTest, StatesThatChangeWithoutEndAreGivenUp) {
  fill(17, 1, true);
  uint32_t epoch = pool_.epoch(17);
  int steps = 0;
  DetailSnapshot snapshot =
      reader([&] {
        bool sealed = ++steps > 32 && steps % 2 == 0;  // each time another state than is looked for
        pool_.entry(17).state.store(pool::pack_detail(epoch, sealed ? pool::kDetailSealed : pool::kDetailOwned));
      }).snapshot({}, kPlenty);
  EXPECT_LE(snapshot.chunks.size() + snapshot.losses.unreadable_chunks, 1u);
  EXPECT_LT(steps, 60);
}

TEST_F(DetailReaderTest, UsedBeyondTheChunkIsTheChunk) {
  fill(17, 1, true);
  pool_.entry(17).used.store(UINT32_MAX);
  DetailSnapshot snapshot = reader().snapshot({}, kPlenty);
  ASSERT_EQ(snapshot.chunks.size(), 1u);
  EXPECT_EQ(snapshot.chunks[0].view.bytes.size(), pool::kSmallBytes);
  EXPECT_EQ(numbers_of(snapshot), tens({1}));
}

class DiscardReaderTest : public DetailReaderTest {
 protected:
  DiscardReaderTest() : DetailReaderTest({.large = 16, .small = 16, .mode = pool::DetailMode::kDiscard}) {}
};

TEST_F(DiscardReaderTest, WhatWasReadIsFree) {
  fill(0, 1, true);
  fill(1, 2, true);
  fill(2, 3, false);
  EXPECT_EQ(numbers_of(reader().snapshot({0, 19}, kPlenty)), tens({1}));
  EXPECT_EQ(pool_.state(0), pool::kDetailFree);
  EXPECT_EQ(pool_.state(1), pool::kDetailSealed) << "nobody asked for it";
  EXPECT_EQ(pool_.state(2), pool::kDetailOwned);
  EXPECT_NE(pool_.claim(0, 50), 0u);
  EXPECT_EQ(numbers_of(reader().snapshot({}, kPlenty)), tens({2, 3}));
}

TEST_F(DiscardReaderTest, WhatIsOverBudgetStays) {
  fill(0, 1, true);
  EXPECT_EQ(reader().snapshot({}, 16).losses.over_budget_chunks, 1u);
  EXPECT_EQ(pool_.state(0), pool::kDetailSealed);
}

}  // namespace
}  // namespace fathom::agent
