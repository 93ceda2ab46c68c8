#include "base/skip_reason.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace fathom {
namespace {

// The numbers of version 1 of the agents' stream.
TEST(SkipReason, HasAStableNumberAndName) {
  EXPECT_EQ(skip_reason_of(1), SkipReason::kRate);
  EXPECT_EQ(skip_reason_of(5), SkipReason::kMemory);
  EXPECT_EQ(skip_reason_of(9), SkipReason::kLost);
  EXPECT_EQ(skip_reason_of(12), SkipReason::kRefused);
  EXPECT_EQ(name_of(SkipReason::kRate), "rate");
  EXPECT_EQ(name_of(SkipReason::kNoDetail), "no_detail");
  EXPECT_EQ(name_of(SkipReason::kLost), "lost");
}

TEST(SkipReason, EachHasItsOwnWords) {
  std::set<std::string> words;
  for (std::string_view name : kSkipReasonNames) {
    ASSERT_TRUE(skip_reason_of(name)) << name;
    EXPECT_EQ(name_of(*skip_reason_of(name)), name);
    words.insert(words_of(*skip_reason_of(name)));
  }
  EXPECT_EQ(words.size(), kSkipReasonNames.size());
}

TEST(SkipReason, OthersAreNone) {
  EXPECT_FALSE(skip_reason_of(0));
  EXPECT_FALSE(skip_reason_of(kSkipReasonNames.size() + 1));
  EXPECT_FALSE(skip_reason_of("rates"));
  EXPECT_EQ(name_of(SkipReason{}), "unknown");
  EXPECT_STREQ(words_of(SkipReason{}), "for a reason that this version does not know");
}

}  // namespace
}  // namespace fathom
