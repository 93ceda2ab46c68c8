#include "base/byte_budget.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(Budget, GivesUpToItsLimitAndNotAByteMore) {
  ByteBudget budget(100);
  Reservation one = budget.open();
  EXPECT_TRUE(one.grow(60));
  EXPECT_TRUE(one.grow(40));
  EXPECT_FALSE(one.grow(1));
  EXPECT_EQ(one.bytes(), 100u);
  EXPECT_EQ(budget.used(), 100u);
}

TEST(Budget, ARefusalTakesNothing) {
  ByteBudget budget(100);
  Reservation one = budget.open();
  Reservation other = budget.open();
  ASSERT_TRUE(one.grow(60));
  EXPECT_FALSE(other.grow(41));
  EXPECT_EQ(other.bytes(), 0u);
  EXPECT_TRUE(other.grow(40));
}

TEST(Budget, GivesBackAtTheEnd) {
  ByteBudget budget(100);
  {
    Reservation one = budget.open();
    ASSERT_TRUE(one.grow(100));
  }
  EXPECT_EQ(budget.used(), 0u);
}

TEST(Budget, MovingKeepsOneOwner) {
  ByteBudget budget(100);
  Reservation kept;
  {
    Reservation one = budget.open();
    ASSERT_TRUE(one.grow(30));
    kept = std::move(one);
  }
  EXPECT_EQ(budget.used(), 30u);
  Reservation replaced = budget.open();
  ASSERT_TRUE(replaced.grow(50));
  replaced = std::move(kept);
  EXPECT_EQ(budget.used(), 30u) << "what was held before is given back";
  replaced.release();
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_TRUE(replaced.grow(10)) << "a released reservation can grow again";
}

TEST(Budget, AnotherLimitIsForWhatIsTakenFromThenOn) {
  ByteBudget budget(100);
  Reservation one = budget.open();
  ASSERT_TRUE(one.grow(80));
  budget.set_limit(50);
  EXPECT_EQ(one.bytes(), 80u) << "nobody gives anything back";
  EXPECT_FALSE(budget.open().grow(1));
  one.release();
  EXPECT_FALSE(one.grow(51));
  EXPECT_TRUE(one.grow(50));
  budget.set_limit(200);
  EXPECT_TRUE(one.grow(150));
}

TEST(Budget, ADefaultReservationHasNothingToGive) {
  Reservation none;
  EXPECT_FALSE(none.grow(1));
  none.release();
  EXPECT_EQ(none.bytes(), 0u);
}

TEST(Budget, HoldsUnderContention) {
  ByteBudget budget(8);
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        Reservation mine = budget.open();
        // What is granted never passes the limit, whatever the others hold: each of us asks for all of it.
        if (mine.grow(8) && mine.bytes() != 8) over = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(over);
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace fathom
