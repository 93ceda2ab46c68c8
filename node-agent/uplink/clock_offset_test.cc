#include "node-agent/uplink/clock_offset.h"

#include <gtest/gtest.h>

#include <random>

namespace fathom::agent {
namespace {

constexpr int64_t kSecondNano = 1'000'000'000;
constexpr int64_t kHourNano = 3600 * kSecondNano;
constexpr int64_t kMilliNano = 1'000'000;

// A host and a collector whose clocks are functions of true time.
struct World {
  int64_t boot_ppm = 0;  // how much faster than truth the host's clocks run
  int64_t collector_ppm = 0;
  int64_t real_minus_boot = 1'700'000'000 * kSecondNano;
  int64_t collector_at_0 = 1'700'000'000 * kSecondNano;
  int64_t now = 1000 * kSecondNano;  // true time

  int64_t boot() const { return now + now * boot_ppm / 1'000'000; }
  int64_t real() const { return boot() + real_minus_boot; }
  int64_t collector() const { return collector_at_0 + now + now * collector_ppm / 1'000'000; }
  LocalInstant instant() const { return {static_cast<uint64_t>(real()), static_cast<uint64_t>(boot())}; }
  int64_t true_offset() const { return collector() - real(); }

  ProbeTimes probe(int64_t there, int64_t work, int64_t back) {
    ProbeTimes times;
    times.sent_boot_nano = static_cast<uint64_t>(boot());
    now += there;
    times.collector_received_unix_nano = static_cast<uint64_t>(collector());
    now += work;
    times.collector_sent_unix_nano = static_cast<uint64_t>(collector());
    now += back;
    times.received_boot_nano = static_cast<uint64_t>(boot());
    return times;
  }
};

void expect_true(const World& world, OffsetEstimator& estimator) {
  std::optional<ClockOffset> offset = estimator.at(world.instant());
  ASSERT_TRUE(offset);
  EXPECT_LE(std::abs(offset->offset_nano - world.true_offset()), static_cast<int64_t>(offset->error_nano));
}

TEST(OffsetEstimator, KnowsNothingAtFirst) {
  OffsetEstimator estimator;
  EXPECT_FALSE(estimator.known());
  EXPECT_FALSE(estimator.at(World().instant()));
}

TEST(OffsetEstimator, HoursOfSkewAreMeasuredToHalfTheRoundTrip) {
  for (int64_t skew : {5 * kHourNano, -7 * kHourNano, int64_t{0}}) {
    World world;
    world.collector_at_0 += skew;
    OffsetEstimator estimator;
    estimator.probed(world.probe(kMilliNano, 50'000, kMilliNano));
    std::optional<ClockOffset> offset = estimator.at(world.instant());
    ASSERT_TRUE(offset);
    EXPECT_LT(std::abs(offset->offset_nano - world.true_offset()), 3000);
    EXPECT_GE(offset->error_nano, static_cast<uint64_t>(kMilliNano));
    EXPECT_LT(offset->error_nano, static_cast<uint64_t>(kMilliNano + 3000));
  }
}

// Spans of one trace on one host come in several batches: by estimates that differ, a child would begin before its
// parent.
TEST(OffsetEstimator, OnTheCollectorsOwnHostThereIsNone) {
  std::mt19937_64 random(7);
  World world;
  OffsetEstimator estimator;
  for (int i = 0; i < 200; ++i) {
    estimator.probed(
        world.probe(static_cast<int64_t>(random() % 2'000'000), 1000, static_cast<int64_t>(random() % 90'000)));
    EXPECT_EQ(estimator.at(world.instant())->offset_nano, 0);
    expect_true(world, estimator);
    world.now += kSecondNano;
  }
}

TEST(OffsetEstimator, WhatWasToldStaysUntilItCannotBeTrue) {
  World world;
  world.collector_at_0 += 5 * kMilliNano;
  OffsetEstimator estimator;
  estimator.probed(world.probe(kMilliNano, 0, kMilliNano / 2));
  const int64_t told = estimator.at(world.instant())->offset_nano;
  EXPECT_NE(told, 0) << "it cannot be";
  for (int i = 0; i < 50; ++i) {
    world.now += kSecondNano;
    estimator.probed(world.probe(kMilliNano / 2, 0, kMilliNano));
    EXPECT_EQ(estimator.at(world.instant())->offset_nano, told);
    expect_true(world, estimator);
  }
  world.real_minus_boot += kHourNano;
  EXPECT_NE(estimator.at(world.instant())->offset_nano, told);
  expect_true(world, estimator);
}

TEST(OffsetEstimator, UnequalWaysStayWithinTheError) {
  World world;
  OffsetEstimator estimator;
  estimator.probed(world.probe(9 * kMilliNano, 0, 0));
  expect_true(world, estimator);
  OffsetEstimator other;
  other.probed(world.probe(0, 0, 9 * kMilliNano));
  expect_true(world, other);
}

TEST(OffsetEstimator, TheLeastRoundTripCounts) {
  World world;
  OffsetEstimator estimator;
  for (int64_t delay : {40 * kMilliNano, kMilliNano / 10, 70 * kMilliNano, 30 * kMilliNano}) {
    estimator.probed(world.probe(delay, 0, delay / 3));
    world.now += kSecondNano;
  }
  EXPECT_LT(estimator.at(world.instant())->error_nano, static_cast<uint64_t>(4 * kMilliNano))
      << "it is two seconds old";
  expect_true(world, estimator);
}

TEST(OffsetEstimator, TheErrorGrowsWithAge) {
  World world;
  world.boot_ppm = 200;
  OffsetEstimator estimator;
  estimator.probed(world.probe(1000, 0, 1000));
  uint64_t young = estimator.at(world.instant())->error_nano;
  world.now += 600 * kSecondNano;
  expect_true(world, estimator);
  EXPECT_GT(estimator.at(world.instant())->error_nano, young + 600 * 200'000);
}

// Skew, drift and delays at random, probed as the uplink does, looked at between probes and back in time.
TEST(OffsetEstimator, TheTruthIsAlwaysWithinTheError) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto up_to = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1)); };
    World world;
    world.collector_at_0 += up_to(20 * kHourNano) - 10 * kHourNano;
    world.boot_ppm = up_to(1000) - 500;  // NTP slews it
    world.collector_ppm = up_to(800) - 400;
    int64_t base = up_to(50 * kMilliNano), jitter = up_to(200 * kMilliNano);
    OffsetEstimator estimator;
    World early;
    for (int i = 0; i < 60; ++i) {
      estimator.probed(world.probe(base + up_to(jitter), up_to(kMilliNano), base / 3 + up_to(jitter)));
      if (i == 2) early = world;
      world.now += i < 8 ? kSecondNano : 10 * kSecondNano;
      expect_true(world, estimator);
      if (i > 2) expect_true(early, estimator);
      world.real_minus_boot += i % 7 == 0 ? up_to(kHourNano) : 0;  // steps of this host's clock change nothing
    }
    EXPECT_EQ(estimator.epochs(), 1u);
  }
}

// A span that waited is told by the clock of later: the offset of then and what drifted since.
TEST(OffsetEstimator, TheOffsetOfThenIsWithinTheErrorAndTheDrift) {
  for (int64_t ppm : {-500, 500}) {
    World world;
    world.boot_ppm = ppm;
    world.collector_ppm = -ppm / 2;
    World then = world;
    world.now += 3600 * kSecondNano;
    OffsetEstimator estimator;
    estimator.probed(world.probe(1000, 0, 1000));
    uint64_t age = static_cast<uint64_t>(world.boot() - then.boot());
    std::optional<ClockOffset> offset = estimator.at(world.instant());
    ASSERT_TRUE(offset);
    int64_t off = std::abs(offset->offset_nano - then.true_offset());
    EXPECT_GT(off, static_cast<int64_t>(offset->error_nano));
    EXPECT_LE(off, static_cast<int64_t>(offset->error_nano + OffsetEstimator::drift_in(age)));
  }
}

TEST(OffsetEstimator, AStepOfTheCollectorsClockBeginsAnew) {
  World world;
  OffsetEstimator estimator;
  for (int i = 0; i < 5; ++i) {
    estimator.probed(world.probe(kMilliNano, 0, kMilliNano));
    world.now += kSecondNano;
  }
  for (int64_t step : {kHourNano, -2 * kHourNano, 50 * kMilliNano}) {
    size_t epochs = estimator.epochs();
    world.collector_at_0 += step;
    estimator.probed(world.probe(kMilliNano, 0, kMilliNano));
    EXPECT_EQ(estimator.epochs(), epochs + 1);
    expect_true(world, estimator);
  }
}

TEST(OffsetEstimator, ProbesThatCannotBeTrueAreIgnored) {
  World world;
  OffsetEstimator estimator;
  ProbeTimes good = world.probe(kMilliNano, kMilliNano, kMilliNano);
  auto ignored = [&](auto change) {
    ProbeTimes bad = good;
    change(bad);
    estimator.probed(bad);
    return !estimator.known();
  };
  EXPECT_TRUE(ignored([](ProbeTimes& times) { times.received_boot_nano = times.sent_boot_nano - 1; }));
  EXPECT_TRUE(
      ignored([](ProbeTimes& times) { times.collector_sent_unix_nano = times.collector_received_unix_nano - 1; }));
  EXPECT_TRUE(ignored([](ProbeTimes& times) { times.collector_sent_unix_nano += 10 * kMilliNano; }));
  EXPECT_TRUE(ignored([](ProbeTimes& times) { times.collector_sent_unix_nano = UINT64_MAX; }));
  estimator.probed(good);
  EXPECT_TRUE(estimator.known());
  estimator.forget();
  EXPECT_FALSE(estimator.known());
}

TEST(StepWatch, SlewingIsNoStep) {
  StepWatch watch;
  World world;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(watch.mark(world.instant()).uncertain_nano, 0u);
    world.now += kSecondNano;
    world.real_minus_boot += 500'000;  // 500 ppm
  }
}

TEST(StepWatch, AStepMakesUncertainForAWhile) {
  for (int64_t step : {kHourNano, -kHourNano, 5 * kMilliNano}) {
    StepWatch watch;
    World world;
    watch.mark(world.instant());
    world.now += kSecondNano / 10;
    world.real_minus_boot += step;
    uint64_t uncertain = watch.mark(world.instant()).uncertain_nano;
    EXPECT_EQ(uncertain, static_cast<uint64_t>(std::abs(step)));
    world.now += 2 * kSecondNano;
    EXPECT_EQ(watch.mark(world.instant()).uncertain_nano, uncertain);
    world.now += 2 * kSecondNano;
    EXPECT_EQ(watch.mark(world.instant()).uncertain_nano, 0u);
  }
}

// Times that were converted before a step and are sent right after it.
TEST(StepWatch, TheTruthOfBothSidesOfAStepIsWithinTheError) {
  World world;
  StepWatch watch;
  OffsetEstimator estimator;
  estimator.probed(world.probe(kMilliNano, 0, kMilliNano));
  watch.mark(world.instant());
  int64_t before = world.true_offset();
  world.real_minus_boot -= kHourNano;
  ClockOffset offset = *estimator.at(watch.mark(world.instant()));
  for (int64_t truth : {before, world.true_offset()}) {
    EXPECT_LE(std::abs(offset.offset_nano - truth), static_cast<int64_t>(offset.error_nano));
  }
}

}  // namespace
}  // namespace fathom::agent
