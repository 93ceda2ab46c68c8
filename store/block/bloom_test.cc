#include "store/block/bloom.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace fathom::store::block {
namespace {

std::vector<uint64_t> hashes(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> made;
  while (made.size() < count) made.push_back(spread(random()));
  return made;
}

class BloomOfSize : public ::testing::TestWithParam<size_t> {};

TEST_P(BloomOfSize, MissesNothingAndSeldomCriesWolf) {
  constexpr size_t kFilters = 200, kStrangers = 500;
  size_t alarms = 0;
  for (uint64_t seed = 0; seed < kFilters; ++seed) {
    std::vector<uint64_t> in = hashes(seed, GetParam());
    std::string filter = "before";
    uint32_t bytes = append_bloom(filter, in);
    ASSERT_EQ(filter.size(), 6 + bytes);
    std::string_view bits = std::string_view(filter).substr(6);
    for (uint64_t hash : in) ASSERT_TRUE(bloom_may_contain(bits, hash));
    for (uint64_t stranger : hashes(seed + 1'000'000, kStrangers)) alarms += bloom_may_contain(bits, stranger);
  }
  EXPECT_LT(static_cast<double>(alarms), 0.02 * kFilters * kStrangers);
}

INSTANTIATE_TEST_SUITE_P(Sizes, BloomOfSize, testing::Values(1, 2, 3, 5, 8, 20, 50, 1000));

TEST(Bloom, NothingIsInAnEmptyFilter) {
  std::string filter;
  EXPECT_EQ(append_bloom(filter, {}), 0u);
  EXPECT_FALSE(bloom_may_contain(filter, 7));
  EXPECT_FALSE(lines_may_contain("", 7));
}

}  // namespace
}  // namespace fathom::store::block
