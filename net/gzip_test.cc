#include "net/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

namespace fathom::net {
namespace {

const std::function<bool(uint64_t)> kAlways = [](uint64_t) { return true; };

std::string noise(size_t size) {
  std::mt19937 random(7);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

TEST(Gzip, ComesBackAsItWas) {
  for (const std::string& text : {std::string(), std::string("a"), std::string(1'000'000, 'x'), noise(300'000)}) {
    EXPECT_EQ(*gunzip(gzip(text), 2'000'000, kAlways), text);
  }
}

TEST(Gzip, SeveralMembersAreOneBody) {
  EXPECT_EQ(*gunzip(gzip("one ") + gzip("two ") + gzip(std::string(100'000, 'x')), 1'000'000, kAlways),
            "one two " + std::string(100'000, 'x'));
}

TEST(Gzip, OverlooksZerosBehindTheLastMember) {
  std::string packed = gzip("one ") + gzip("two");
  for (size_t zeros : {1u, 511u, 64u * 1024}) {
    EXPECT_EQ(*gunzip(packed + std::string(zeros, '\0'), 100, kAlways), "one two") << zeros;
  }
  EXPECT_EQ(gunzip(packed + std::string(64 * 1024 + 1, '\0'), 100, kAlways).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(gunzip(packed + std::string(10, '\0') + "x", 100, kAlways).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(gunzip(packed + std::string(10, '\0') + gzip("three"), 100, kAlways).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(gunzip(std::string(10, '\0'), 100, kAlways).error().code, ErrorCode::kInvalid);
}

TEST(Gzip, TakesZlibToo) {
  std::string text = "deflate, as HTTP means it";
  std::string packed(200, '\0');
  uLongf size = packed.size();
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                     text.size()),
            Z_OK);
  EXPECT_EQ(*gunzip(std::string_view(packed).substr(0, size), 100, kAlways), text);
  EXPECT_FALSE(gunzip(std::string_view(packed).substr(0, size + 1), 100, kAlways).ok()) << "zlib knows no padding";
}

TEST(Gzip, TheLimitIsExact) {
  std::string packed = gzip(std::string(100'000, 'x'));
  EXPECT_TRUE(gunzip(packed, 100'000, kAlways).ok());
  EXPECT_EQ(gunzip(packed, 99'999, kAlways).error().code, ErrorCode::kExhausted);
  EXPECT_EQ(gunzip(packed, 0, kAlways).error().code, ErrorCode::kExhausted);
}

TEST(Gzip, ABombIsStoppedByTheLimitAndByMemory) {
  std::string bomb = gzip(std::string(64 * 1024 * 1024, 'x'), 9);
  uint64_t asked = 0;
  auto counting = [&asked](uint64_t bytes) {
    asked += bytes;
    return true;
  };
  EXPECT_EQ(gunzip(bomb, 1'000'000, counting).error().code, ErrorCode::kExhausted);
  EXPECT_LE(asked, 1'000'001u);
  asked = 0;
  auto poor = [&asked](uint64_t bytes) { return (asked += bytes) <= 4'000'000; };
  EXPECT_EQ(gunzip(bomb, UINT32_MAX, poor).error().code, ErrorCode::kUnavailable);
}

TEST(Gzip, DamageIsAnErrorAtEveryByte) {
  std::string packed = gzip(noise(2000) + std::string(2000, 'y'));
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_EQ(gunzip(packed.substr(0, size), 10'000, kAlways).error().code, ErrorCode::kInvalid) << size;
  }
  EXPECT_FALSE(gunzip(packed + "rest", 10'000, kAlways).ok());
  EXPECT_FALSE(gunzip("not gzip at all", 10'000, kAlways).ok());
  std::string flipped = packed;
  flipped[packed.size() / 2] ^= 1;
  EXPECT_FALSE(gunzip(flipped, 10'000, kAlways).ok());
}

}  // namespace
}  // namespace fathom::net
