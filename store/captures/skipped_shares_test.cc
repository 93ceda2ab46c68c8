#include "store/captures/skipped_shares.h"

#include <gtest/gtest.h>

namespace fathom::store {
namespace {

using Numbers = std::vector<uint64_t>;

NodeId node_of(char letter) {
  NodeId node;
  node.bytes.fill(static_cast<uint8_t>(letter));
  return node;
}

// Number 1 belongs to the node of the first letter, and so on.
SkippedShares shares_of(std::string_view letters) {
  SkippedShares shares;
  uint64_t number = 0;
  for (char letter : letters) shares.add(node_of(letter), ++number);
  return shares;
}

TEST(SkippedShares, TheLargestShareGivesItsOldest) {
  const SkippedShares shares = shares_of("abaaba");
  EXPECT_EQ(shares.oldest_of_largest(0), Numbers());
  EXPECT_EQ(shares.oldest_of_largest(1), Numbers{1});
  EXPECT_EQ(shares.oldest_of_largest(2), (Numbers{1, 3}));
  EXPECT_EQ(shares.oldest_of_largest(3), (Numbers{1, 2, 3})) << "b has as many, and is the greater id";
  EXPECT_EQ(shares.oldest_of_largest(4), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(shares.oldest_of_largest(9), (Numbers{1, 2, 3, 4, 5, 6}));
}

TEST(SkippedShares, ASmallShareIsKept) {
  EXPECT_EQ(shares_of("cbaaaa").oldest_of_largest(3), (Numbers{3, 4, 5}));
  EXPECT_EQ(SkippedShares().oldest_of_largest(3), Numbers());
}

TEST(SkippedShares, OldestOfAllNodes) {
  const SkippedShares shares = shares_of("abc");
  EXPECT_EQ(shares.oldest(2), (Numbers{1, 2}));
  EXPECT_EQ(shares.oldest(9), (Numbers{1, 2, 3}));
}

TEST(SkippedShares, WhatIsRemovedCountsForNoNode) {
  SkippedShares shares = shares_of("aaab");
  shares.remove(1);
  shares.remove(2);
  shares.remove(2);
  EXPECT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares.oldest_of_largest(1), Numbers{4});
  shares.remove(4);
  EXPECT_EQ(shares.oldest_of_largest(1), Numbers{3});
  EXPECT_EQ(shares.last_number(), 4u) << "no number is given twice";
}

}  // namespace
}  // namespace fathom::store
