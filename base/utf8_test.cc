#include "base/utf8.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(Utf8, KnowsCharactersOfEveryLength) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("plain ascii, longer than eight bytes"));
  EXPECT_TRUE(is_utf8("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 and on, and on, and on"));
}

TEST(Utf8, RefusesWhatIsNone) {
  EXPECT_FALSE(is_utf8("\x80"));
  EXPECT_FALSE(is_utf8("long enough for words \xff"));
  EXPECT_FALSE(is_utf8("\xc0\xaf")) << "over-long";
  EXPECT_FALSE(is_utf8("\xe0\x80\xaf")) << "over-long";
  EXPECT_FALSE(is_utf8("\xed\xa0\x80")) << "a surrogate";
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80")) << "beyond U+10FFFF";
  EXPECT_FALSE(is_utf8("\xe2\x82")) << "cut off";
}

TEST(Utf8, RepairsByteByByte) {
  EXPECT_EQ(repair_utf8("a\xff\xe2\x82z", 100), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz");
  EXPECT_EQ(repair_utf8("caf\xc3\xa9", 100), "caf\xc3\xa9");
  EXPECT_LE(repair_utf8(std::string(1000, '\xff'), 10).size(), 12u);
}

TEST(Utf8, CutsBetweenCharacters) {
  EXPECT_EQ(whole_characters("caf\xc3\xa9", 4), "caf");
  EXPECT_EQ(whole_characters("caf\xc3\xa9", 5), "caf\xc3\xa9");
  EXPECT_EQ(whole_characters("\xf0\x9f\x98\x80", 3), "");
}

TEST(Utf8, WritesCodePoints) {
  std::string out;
  for (uint32_t code : {0x41u, 0xe9u, 0x20acu, 0x1f600u}) append_utf8(out, code);
  EXPECT_EQ(out, "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(Utf8, RepairsAllOfAText) {
  EXPECT_EQ(repair_utf8("\xff\xff end"), "\xef\xbf\xbd\xef\xbf\xbd end");
}

}  // namespace
}  // namespace fathom
