#include "node-agent/triggers/tracepoint_requests.h"

#include <gtest/gtest.h>

namespace fathom::agent {
namespace {

TEST(TracepointRequests, PatternsFitAsProgramsHaveThem) {
  EXPECT_TRUE(fits_pattern("cache.miss", "cache.miss"));
  EXPECT_FALSE(fits_pattern("cache.miss", "cache.misses"));
  EXPECT_TRUE(fits_pattern("cache.*", "cache."));
  EXPECT_TRUE(fits_pattern("*", ""));
  EXPECT_TRUE(fits_pattern("*.m*s", "cache.miss"));
  EXPECT_FALSE(fits_pattern("*.m*s", "cache.missing"));
  EXPECT_TRUE(fits_pattern("a*a*a", "aaa"));
  EXPECT_FALSE(fits_pattern("a*a*a", "aa"));
  EXPECT_FALSE(fits_pattern("", "x"));
}

}  // namespace
}  // namespace fathom::agent
