#include "snapshot/symbols/near_functions.h"

#include <gtest/gtest.h>

namespace fathom::snapshot {
namespace {

using Names = std::vector<std::string>;

TEST(NearFunctions, AreFoundByTheirOwnNames) {
  const Names names = {"main",
                       "int shop::reserve(Cart&)",
                       "shop::reserve_all<int>(long)",
                       "reverse@plt",
                       "shop::look()",
                       "shop::(anonymous namespace)::Desk::lend(int)"};
  EXPECT_EQ(nearest_functions("resrve", names, 3), (Names{"shop::reserve"}));
  EXPECT_EQ(nearest_functions("store::resevre(Cart&)", names, 3), (Names{"shop::reserve"}));
  EXPECT_EQ(nearest_functions("rese*", names, 3), (Names{"shop::reserve", "shop::reserve_all"}));
  EXPECT_EQ(nearest_functions("rese", names, 1), (Names{"shop::reserve"}));
  EXPECT_EQ(nearest_functions("lent", names, 3), (Names{"Desk::lend"}));
  EXPECT_EQ(nearest_functions("checkout", names, 3), Names{});
  EXPECT_EQ(nearest_functions("", names, 3), Names{});
}

}  // namespace
}  // namespace fathom::snapshot
