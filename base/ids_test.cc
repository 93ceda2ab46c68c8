#include "base/ids.h"

#include <unordered_set>

#include <gtest/gtest.h>

namespace fathom {
namespace {

constexpr const char* kTraceHex = "0123456789abcdef00ff10203040a0b0";

TEST(Ids, HexBackAndForthInEitherCase) {
  auto lower = TraceId::from_hex_text(kTraceHex);
  auto upper = TraceId::from_hex_text("0123456789ABCDEF00FF10203040A0B0");
  ASSERT_TRUE(lower && upper);
  EXPECT_EQ(*lower, *upper);
  EXPECT_EQ(lower->hex(), kTraceHex);
}

TEST(Ids, RefusesOtherLengthsAndCharacters) {
  EXPECT_FALSE(SpanId::from_hex_text(""));
  EXPECT_FALSE(SpanId::from_hex_text("0123456789abcde"));
  EXPECT_FALSE(SpanId::from_hex_text("0123456789abcdef0"));
  EXPECT_FALSE(SpanId::from_hex_text("0123456789abcdeg"));
  EXPECT_FALSE(SpanId::from_hex_text("0x23456789abcdef"));
  EXPECT_FALSE(SpanId::from_bytes("1234567"));
  EXPECT_FALSE(SpanId::from_bytes("123456789"));
}

TEST(Ids, BytesOrderAndZero) {
  auto low = SpanId::from_bytes(std::string_view("\0\0\0\0\0\0\0\x01", 8));
  auto high = SpanId::from_bytes(std::string_view("\xff\0\0\0\0\0\0\0", 8));
  ASSERT_TRUE(low && high);
  EXPECT_LT(*low, *high) << "ids order as unsigned bytes";
  EXPECT_TRUE(SpanId{}.is_zero());
  EXPECT_FALSE(low->is_zero());
  EXPECT_EQ(low->hex(), "0000000000000001");
  EXPECT_EQ(low->view().size(), 8u);
}

TEST(Ids, HashSpreadsCountersToo) {
  std::unordered_set<size_t> low_bits;
  for (int i = 0; i < 256; ++i) {
    TraceId id;
    id.bytes[15] = static_cast<uint8_t>(i);
    low_bits.insert(IdHash{}(id)&0xffff);
  }
  EXPECT_GT(low_bits.size(), 200u);
}

}  // namespace
}  // namespace fathom
