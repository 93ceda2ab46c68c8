#include "base/trim.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(Trimmed, IsWhatStandsBetweenBlanks) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed(" \n "), "");
  EXPECT_EQ(trimmed("\"a b\" ", "\" "), "a b");
}

}  // namespace
}  // namespace fathom
