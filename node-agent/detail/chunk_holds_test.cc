#include "node-agent/detail/chunk_holds.h"

#include <gtest/gtest.h>

#include <optional>

#include "node-agent/testing/scripted_detail.h"

namespace fathom::agent {
namespace {

using testing::ScriptedDetail;

class ChunkHoldsTest : public ::testing::Test {
 protected:
  ChunkHoldsTest() {
    Result<DetailFile> opened = DetailFile::open(pool_.descriptor(), 0);
    EXPECT_TRUE(opened.ok());
    file_.emplace(*std::move(opened));
    for (uint32_t chunk = 0; chunk < 64; ++chunk) {
      pool_.claim(chunk, 1);
      pool_.seal(chunk, 2);
    }
  }
  ScriptedDetail pool_{{.large = 32, .small = 32}};
  std::optional<DetailFile> file_;
};

TEST_F(ChunkHoldsTest, HoldsAndGivesBack) {
  ChunkHolds holds(*file_, 1);
  ASSERT_TRUE(holds.hold_now(3, 3));
  EXPECT_EQ(pool_.word(3), pool::pack_detail(3, pool::kDetailReading, 1));
  EXPECT_EQ(pool_.claim(3, 5), 0u);
  EXPECT_TRUE(holds.give_back(3, false));
  EXPECT_EQ(pool_.word(3), pool::pack_detail(3, pool::kDetailSealed));
  ASSERT_TRUE(holds.hold_now(3, 3));
  EXPECT_TRUE(holds.give_back(3, true));
  EXPECT_EQ(pool_.state(3), pool::kDetailFree);
}

TEST_F(ChunkHoldsTest, AheadOnlyEveryOtherAndLessThanAQuarter) {
  ChunkHolds holds(*file_, 1);
  int held = 0;
  for (uint32_t chunk = 0; chunk < 32; ++chunk) held += holds.hold_ahead(chunk, 3) ? 1 : 0;
  EXPECT_EQ(held, 7);
  EXPECT_TRUE(holds.holds(0));
  EXPECT_FALSE(holds.holds(1));
  EXPECT_FALSE(holds.hold_ahead(31, 3)) << "0 is its neighbour";
  EXPECT_TRUE(holds.hold_now(1, 3)) << "the last of a quarter";
  EXPECT_TRUE(holds.hold_ahead(40, 3)) << "the small ones count apart";
}

TEST_F(ChunkHoldsTest, HoldsNothingButSealedChunksOfTheEpoch) {
  ChunkHolds holds(*file_, 1);
  EXPECT_FALSE(holds.hold_now(3, 5));
  pool_.claim(3, 5);
  EXPECT_FALSE(holds.hold_now(3, 5)) << "owned";
  pool_.entry(4).state.store(pool::pack_detail(3, pool::kDetailFree));
  EXPECT_FALSE(holds.hold_now(4, 3));
  EXPECT_EQ(pool_.word(4), pool::pack_detail(3, pool::kDetailFree));
}

TEST_F(ChunkHoldsTest, WhatAPredecessorLeftIsAsGoodAsSealed) {
  for (uint32_t reader : {1, 2, 77}) {
    pool_.entry(3).state.store(pool::pack_detail(3, pool::kDetailReading, reader));
    ChunkHolds holds(*file_, 2);
    ASSERT_TRUE(holds.hold_now(3, 3)) << reader;
    EXPECT_TRUE(holds.give_back(3, false));
  }
}

TEST_F(ChunkHoldsTest, AVoidReaderNoticesWhatWasTaken) {
  ChunkHolds holds(*file_, 1);
  ASSERT_TRUE(holds.hold_now(3, 3));
  pool_.header().reader.store(2);  // its connection has ended
  EXPECT_EQ(pool_.claim(3, 5), 5u);
  EXPECT_FALSE(holds.give_back(3, false));
  EXPECT_EQ(pool_.word(3), pool::pack_detail(5, pool::kDetailOwned));
}

TEST_F(ChunkHoldsTest, GivesBackWhatIsLeft) {
  {
    ChunkHolds holds(*file_, 1);
    ASSERT_TRUE(holds.hold_now(3, 3) && holds.hold_now(9, 3));
  }
  EXPECT_EQ(pool_.state(3), pool::kDetailSealed);
  EXPECT_EQ(pool_.state(9), pool::kDetailSealed);
}

}  // namespace
}  // namespace fathom::agent
