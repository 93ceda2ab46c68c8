#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/bytes.h"
#include "base/ids.h"

namespace fathom {
namespace {

constexpr uint32_t kLastBucket = 2241;

// Spread over all magnitudes, as durations are.
uint64_t random_duration(std::mt19937_64& random) {
  return random() >> (random() % 64);
}

Histogram histogram_of(const std::vector<uint64_t>& durations) {
  Histogram histogram;
  for (uint64_t duration : durations) histogram.record(duration);
  return histogram;
}

std::vector<uint64_t> random_durations(std::mt19937_64& random, size_t size) {
  std::vector<uint64_t> durations(size);
  for (uint64_t& duration : durations) duration = random_duration(random);
  return durations;
}

std::string encoded(const Histogram& histogram) {
  std::string out;
  histogram.encode(out);
  return out;
}

TEST(HistogramBuckets, HoldTheirOwnBoundsAndNothingElse) {
  for (uint32_t bucket = 1; bucket <= kLastBucket; ++bucket) {
    uint64_t low = Histogram::bucket_low_nano(bucket);
    uint64_t high = Histogram::bucket_high_nano(bucket);
    ASSERT_LE(low, high);
    if (low == high) continue;
    ASSERT_EQ(Histogram::bucket_of(low + 1), bucket);
    ASSERT_EQ(Histogram::bucket_of(low + (high - low) / 2 + (high - low) % 2), bucket);
    ASSERT_EQ(Histogram::bucket_of(high), bucket);
  }
  EXPECT_EQ(Histogram::bucket_of(0), 0u);
  EXPECT_EQ(Histogram::bucket_of(1), 1u);
  EXPECT_EQ(Histogram::bucket_of(UINT64_MAX), kLastBucket);
  EXPECT_EQ(Histogram::bucket_high_nano(kLastBucket), UINT64_MAX);
  EXPECT_EQ(Histogram::bucket_high_nano(UINT32_MAX), UINT64_MAX);
}

TEST(HistogramBuckets, AreThePowersOf1Point02) {
  for (uint32_t bucket = 1; bucket < kLastBucket; ++bucket) {
    long double power = std::pow(1.02L, static_cast<long double>(bucket));
    long double high = static_cast<long double>(Histogram::bucket_high_nano(bucket));
    ASSERT_LE(high, power * (1 + 1e-15L)) << bucket;
    ASSERT_GT(high + 1, power * (1 - 1e-15L)) << bucket;
  }
}

TEST(HistogramBuckets, AgreeWithASearchAndAreMonotone) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    uint64_t a = random_duration(random);
    uint64_t b = random_duration(random);
    uint32_t bucket = Histogram::bucket_of(a);
    ASSERT_LE(a, Histogram::bucket_high_nano(bucket));
    if (bucket > 0) {
      ASSERT_GT(a, Histogram::bucket_low_nano(bucket));
    }
    ASSERT_LE(Histogram::bucket_of(std::min(a, b)), Histogram::bucket_of(std::max(a, b)));
  }
}

// The bounds are a format: these never change.
TEST(HistogramBuckets, AreTheSameForEver) {
  EXPECT_EQ(Histogram::bucket_of(2), 36u);
  EXPECT_EQ(Histogram::bucket_of(1'000), 349u);
  EXPECT_EQ(Histogram::bucket_of(1'000'000), 698u);
  EXPECT_EQ(Histogram::bucket_of(1'000'000'000), 1047u);
  uint64_t sum = 0;
  for (uint32_t bucket = 0; bucket <= kLastBucket; ++bucket) sum = sum * 31 + Histogram::bucket_high_nano(bucket);
  EXPECT_EQ(sum, 17017697661202997139u);
}

TEST(Histogram, IsEmptyAtFirst) {
  Histogram histogram;
  histogram.record(5, 0);
  EXPECT_TRUE(histogram.empty());
  EXPECT_EQ(histogram.quantile_nano(0.5), 0u);
  EXPECT_EQ(histogram.max_nano(), 0u);
}

TEST(Histogram, QuantilesAreWithinOnePercent) {
  std::mt19937_64 random(2);
  for (size_t size : {1, 2, 3, 10, 99, 1'000}) {
    std::vector<uint64_t> durations = random_durations(random, size);
    Histogram histogram = histogram_of(durations);
    std::sort(durations.begin(), durations.end());
    for (int percent = 1; percent <= 100; ++percent) {
      uint64_t exact = durations[(size * percent + 99) / 100 - 1];
      uint64_t got = histogram.quantile_nano(percent / 100.0);
      uint64_t error = got > exact ? got - exact : exact - got;
      ASSERT_LE(error, static_cast<double>(exact) / 100 + 1) << "of " << size << " at " << percent << " %: " << exact;
    }
  }
}

TEST(Histogram, QuantilesTakeAnyFraction) {
  Histogram histogram = histogram_of({10, 20, 30});
  EXPECT_EQ(histogram.quantile_nano(-1), 10u);
  EXPECT_EQ(histogram.quantile_nano(0), 10u);
  EXPECT_EQ(histogram.quantile_nano(NAN), 10u);
  EXPECT_EQ(histogram.quantile_nano(1), 30u);
  EXPECT_EQ(histogram.quantile_nano(7), 30u);
  Histogram hundred;
  for (uint64_t i = 1; i <= 100; ++i) hundred.record(i <= 7 ? 1 : 40);
  EXPECT_EQ(hundred.quantile_nano(0.07), 1u);
  EXPECT_EQ(hundred.quantile_nano(0.08), 40u);
}

TEST(Histogram, OfZerosOnly) {
  Histogram histogram;
  histogram.record(0, 7);
  EXPECT_EQ(histogram.count(), 7u);
  EXPECT_EQ(histogram.quantile_nano(0.5), 0u);
  std::string bytes = encoded(histogram);
  std::string_view in = bytes;
  EXPECT_EQ(Histogram::decode(in).value(), histogram);
}

TEST(Histogram, MergedEqualsRecordedTogether) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<uint64_t> a = random_durations(random, random() % 100);
    std::vector<uint64_t> b = random_durations(random, random() % 100);
    Histogram merged = histogram_of(a);
    merged.merge(histogram_of(b));
    a.insert(a.end(), b.begin(), b.end());
    ASSERT_EQ(merged, histogram_of(a));
  }
}

TEST(Histogram, CountsSaturate) {
  Histogram histogram;
  histogram.record(10, UINT64_MAX);
  histogram.record(10, 5);
  Histogram other;
  other.record(20, UINT64_MAX);
  histogram.merge(other);
  EXPECT_EQ(histogram.count(), UINT64_MAX);
  EXPECT_EQ(histogram.quantile_nano(0.5), 10u);
  std::string bytes = encoded(histogram);
  std::string_view in = bytes;
  EXPECT_EQ(Histogram::decode(in).value(), histogram);
}

TEST(Histogram, ComesBackFromItsBytes) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 100; ++round) {
    Histogram histogram = histogram_of(random_durations(random, random() % 300));
    std::string bytes = encoded(histogram);
    std::string followed = bytes + "rest";
    std::string_view in = followed;
    Result<Histogram> decoded = Histogram::decode(in);
    ASSERT_TRUE(decoded.ok());
    ASSERT_EQ(*decoded, histogram);
    ASSERT_EQ(in, "rest");
    for (size_t cut = 0; cut < bytes.size(); cut += 1 + bytes.size() / 20) {
      std::string_view part = std::string_view(bytes).substr(0, cut);
      ASSERT_FALSE(Histogram::decode(part).ok());
    }
  }
}

TEST(Histogram, HasTheseBytes) {
  Histogram histogram;
  histogram.record(0, 3);
  histogram.record(1'000, 300);
  // 2 buckets; bucket 0, 3 times; 348 further on, 300 times; the maximum, 3 below the bucket's end of 1003.
  EXPECT_EQ(to_hex(encoded(histogram)), "020003dc02ac0203");
}

TEST(Histogram, RefusesForgedBytes) {
  auto refused = [](std::initializer_list<uint64_t> varints) {
    std::string bytes;
    ByteWriter writer(bytes);
    for (uint64_t value : varints) writer.varint(value);
    std::string_view in = bytes;
    Result<Histogram> decoded = Histogram::decode(in);
    return !decoded.ok() && decoded.error().code == ErrorCode::kCorrupt;
  };
  EXPECT_TRUE(refused({UINT64_MAX}));                  // buckets without end
  EXPECT_TRUE(refused({1, 1, 0, 0}));                  // a bucket without a count
  EXPECT_TRUE(refused({1, 2, 1, 0}));                  // no whole nanosecond lies in bucket 2
  EXPECT_TRUE(refused({1, kLastBucket + 1, 1, 0}));    // no such bucket
  EXPECT_TRUE(refused({2, kLastBucket, 1, 0, 1, 0}));  // nor after the last
  EXPECT_TRUE(refused({1, 349, 1, 30}));               // a maximum in another bucket
  EXPECT_TRUE(refused({1, 349, 1, UINT64_MAX}));       // or below zero
  EXPECT_TRUE(refused({1, 349, 1}));                   // or missing
  EXPECT_FALSE(refused({1, 349, 1, 3}));
}

}  // namespace
}  // namespace fathom
