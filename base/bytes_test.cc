#include "base/bytes.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace fathom {
namespace {

std::string varint_bytes(uint64_t value) {
  std::string out;
  ByteWriter(out).varint(value);
  return out;
}

TEST(Bytes, EverythingReadsBackAsItWasWritten) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(0xff);
  writer.u32(0x01020304);
  writer.u64(0x0102030405060708);
  writer.f64(-2.5);
  writer.svarint(INT64_MIN);
  writer.string("h\xc3\xa9llo");
  writer.string("");
  writer.raw("xyz");
  ByteReader reader(out);
  EXPECT_EQ(reader.u8(), 0xff);
  EXPECT_EQ(reader.u32(), 0x01020304u);
  EXPECT_EQ(reader.u64(), 0x0102030405060708u);
  EXPECT_EQ(reader.f64(), -2.5);
  EXPECT_EQ(reader.svarint(), INT64_MIN);
  EXPECT_EQ(reader.string(), "h\xc3\xa9llo");
  EXPECT_EQ(reader.string(), "");
  EXPECT_EQ(reader.raw(3), "xyz");
  EXPECT_TRUE(reader.at_end());
  EXPECT_FALSE(reader.failed());
}

TEST(Bytes, FixedIntegersAreLittleEndianAndKeysBigEndian) {
  std::string out;
  ByteWriter(out).u32(1);
  EXPECT_EQ(out, std::string("\x01\0\0\0", 4));
  out.clear();
  append_be32(out, 1);
  append_be64(out, 258);
  EXPECT_EQ(out, std::string("\0\0\0\x01\0\0\0\0\0\0\x01\x02", 12));
  EXPECT_EQ(load_be32(out.data()), 1u);
  EXPECT_EQ(load_be64(out.data() + 4), 258u);
}

TEST(Bytes, VarintsAtEveryLength) {
  for (int bit = 0; bit < 64; ++bit) {
    for (uint64_t value : {uint64_t{1} << bit, (uint64_t{1} << bit) - 1, UINT64_MAX >> bit}) {
      std::string bytes = varint_bytes(value);
      ByteReader reader(bytes);
      EXPECT_EQ(reader.varint(), value);
      EXPECT_TRUE(reader.at_end());
      EXPECT_FALSE(reader.failed());
    }
  }
  EXPECT_EQ(varint_bytes(127).size(), 1u);
  EXPECT_EQ(varint_bytes(128).size(), 2u);
  EXPECT_EQ(varint_bytes(UINT64_MAX).size(), 10u);
}

TEST(Bytes, EveryTruncationOfAVarintFails) {
  std::string bytes = varint_bytes(UINT64_MAX);
  for (size_t size = 0; size < bytes.size(); ++size) {
    ByteReader reader(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(reader.varint(), 0u);
    EXPECT_TRUE(reader.failed());
  }
}

TEST(Bytes, AVarintThatOverflowsFails) {
  for (const std::string& bytes : {std::string(9, '\xff') + '\x02', std::string(11, '\x80'), std::string(20, '\xff')}) {
    ByteReader reader(bytes);
    EXPECT_EQ(reader.varint(), 0u);
    EXPECT_TRUE(reader.failed());
  }
}

TEST(Bytes, Varint32RefusesMore) {
  std::string fits = varint_bytes(UINT32_MAX);
  ByteReader good(fits);
  EXPECT_EQ(good.varint32(), UINT32_MAX);
  EXPECT_FALSE(good.failed());
  std::string wide = varint_bytes(uint64_t{UINT32_MAX} + 1);
  ByteReader bad(wide);
  EXPECT_EQ(bad.varint32(), 0u);
  EXPECT_TRUE(bad.failed());
}

TEST(Bytes, FailureIsForGood) {
  std::string bytes(
      "\x05"
      "abcdefgh",
      9);
  ByteReader reader(std::string_view(bytes).substr(0, 4));  // says five bytes, has three
  EXPECT_EQ(reader.string(), "");
  EXPECT_TRUE(reader.failed());
  EXPECT_EQ(reader.u8(), 0);
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(Bytes, LengthsNearTheEndOfMemoryFail) {
  std::string bytes = varint_bytes(UINT64_MAX) + "abc";
  ByteReader reader(bytes);
  EXPECT_EQ(reader.string(), "");
  EXPECT_TRUE(reader.failed());
}

TEST(Bytes, ShortFixedReadsFail) {
  ByteReader reader("abc");
  EXPECT_EQ(reader.u32(), 0u);
  EXPECT_TRUE(reader.failed());
}

TEST(Bytes, ZigzagKeepsSmallNumbersSmall) {
  EXPECT_EQ(zigzag(0), 0u);
  EXPECT_EQ(zigzag(-1), 1u);
  EXPECT_EQ(zigzag(1), 2u);
  for (int64_t value : {INT64_MIN, INT64_MIN + 1, int64_t{-1}, int64_t{0}, int64_t{1}, INT64_MAX}) {
    EXPECT_EQ(unzigzag(zigzag(value)), value);
  }
}

TEST(Bytes, NanKeepsItsBits) {
  std::string out;
  ByteWriter(out).f64(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(std::isnan(ByteReader(out).f64()));
}

}  // namespace
}  // namespace fathom
