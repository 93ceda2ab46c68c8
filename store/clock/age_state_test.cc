// The bytes of the clock's state: golden bytes, every truncation and every flipped bit.
#include "store/clock/age_state.h"

#include <gtest/gtest.h>

namespace fathom::store {
namespace {

AgeState full_state() {
  return {.boot_id = "0f0a3c5e-boot",
          .boottime_nano = 86'400'000'000'000,
          .age_nano = 1'795'221'000'000'000'000,
          .offset_nano = -691'200'000'000'000,
          .trusted_nano = 172'800'000'000'000,
          .doubt = ClockDoubt{-691'200'000'000'000, 1'800'000'000'000, true, 1'795'220'000'000'000'000, 7'200'000},
          .gaps = {{1'795'000'000'000'000'000, 172'800'000'000'000}, {1'795'100'000'000'000'000, 1}}};
}

// Version 1, as its first server wrote it.
constexpr uint8_t kGolden[] = {0x46, 0x54, 0x48, 0x4d, 0x41, 0x47, 0x45, 0x53, 0x01, 0xa5, 0x52, 0x1c, 0x80, 0xa0, 0xc0,
                               0xbf, 0x52, 0x0d, 0x30, 0x66, 0x30, 0x61, 0x33, 0x63, 0x35, 0x65, 0x2d, 0x62, 0x6f, 0x6f,
                               0x74, 0x80, 0x80, 0xbc, 0x8a, 0xc9, 0xd2, 0x13, 0x80, 0xa0, 0xc9, 0xf2, 0xce, 0xff, 0xf9,
                               0xf4, 0x18, 0xff, 0xff, 0xbf, 0xa7, 0x91, 0xa9, 0xba, 0x02, 0x03, 0x80, 0x80, 0xf0, 0xa9,
                               0xa4, 0xca, 0x4e, 0xff, 0xff, 0xbf, 0xa7, 0x91, 0xa9, 0xba, 0x02, 0x80, 0xa0, 0xf1, 0xc2,
                               0xb1, 0x34, 0x01, 0x80, 0x80, 0xb5, 0xcd, 0xc1, 0xe2, 0xf9, 0xf4, 0x18, 0x80, 0xba, 0xb7,
                               0x03, 0x02, 0x80, 0x80, 0xce, 0xde, 0xd5, 0xdf, 0xc7, 0xf4, 0x18, 0x80, 0x80, 0xf8, 0x94,
                               0x92, 0xa5, 0x27, 0x80, 0x80, 0xb7, 0xe2, 0x86, 0xbe, 0xde, 0xf4, 0x18, 0x01};

TEST(AgeStateTest, Version1IsReadForEver) {
  const std::string golden(reinterpret_cast<const char*>(kGolden), sizeof kGolden);
  Result<AgeState> state = decode_age_state(golden);
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_EQ(*state, full_state());
  EXPECT_EQ(encode_age_state(full_state()), golden);
}

TEST(AgeStateTest, WhatIsWrittenIsRead) {
  AgeState plain;
  EXPECT_EQ(decode_age_state(encode_age_state(plain)).value(), plain);
  plain.trusted_nano = 0;
  EXPECT_EQ(decode_age_state(encode_age_state(plain)).value(), plain);
  EXPECT_EQ(decode_age_state(encode_age_state(full_state())).value(), full_state());
}

TEST(AgeStateTest, DamageIsFound) {
  const std::string bytes = encode_age_state(full_state());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_age_state(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode_age_state(flipped).ok()) << bit;
  }
  EXPECT_FALSE(decode_age_state(bytes + "x").ok());
  EXPECT_FALSE(decode_age_state(std::string(1 << 20, 'x')).ok());
}

TEST(AgeStateTest, ImpossibleContentIsRejected) {
  AgeState state = full_state();
  state.gaps.resize(kMostAgeGaps + 1, state.gaps.back());
  EXPECT_FALSE(decode_age_state(encode_age_state(state)).ok());
  state = full_state();
  std::swap(state.gaps[0], state.gaps[1]);
  EXPECT_FALSE(decode_age_state(encode_age_state(state)).ok());
  state = full_state();
  state.age_nano = kMostAgeNano;
  EXPECT_FALSE(decode_age_state(encode_age_state(state)).ok());
  state = full_state();
  state.trusted_nano = INT64_MIN;
  EXPECT_FALSE(decode_age_state(encode_age_state(state)).ok());
}

}  // namespace
}  // namespace fathom::store
