#include "collector/control/usual_latency.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/time.h"

namespace fathom::collector {
namespace {

constexpr double kKept = 0.9;

// An operation with a log-normal latency around `usual_nano`, and a share of requests that take longer.
class Operation {
 public:
  explicit Operation(uint64_t usual_nano) : usual_nano_(static_cast<double>(usual_nano)) {}

  void run_for(int minutes, double fault_share = 0, uint64_t fault_nano = 0) {
    for (int minute = 0; minute < minutes; ++minute) {
      for (int i = 0; i < 600; ++i) add(unit_(random_) < fault_share ? fault_nano : 0);
      latency_.fade(kKept);
    }
  }
  void become(uint64_t usual_nano) { usual_nano_ = static_cast<double>(usual_nano); }
  double tail_ms() const { return static_cast<double>(latency_.tail_nano()) / static_cast<double>(kNanosPerMilli); }

 private:
  void add(uint64_t fault_nano) {
    const auto nano = static_cast<uint64_t>(usual_nano_ * law_(random_)) + fault_nano;
    latency_.add(DecayedHistogram::bucket_of(nano));
  }

  double usual_nano_;
  std::mt19937_64 random_{11};
  std::lognormal_distribution<double> law_{0, 0.3};
  std::uniform_real_distribution<double> unit_{0, 1};
  UsualLatency latency_;
};

// exp(2.33 * 0.3): the ratio of this distribution's p99 to its median.
constexpr double kTailMs = 2.0 * 5;

TEST(UsualLatency, FindsTheTailOfALaw) {
  Operation operation(5 * kNanosPerMilli);
  operation.run_for(5);
  EXPECT_NEAR(operation.tail_ms(), kTailMs, 1.5) << "of a young operation";
  operation.run_for(60);
  EXPECT_NEAR(operation.tail_ms(), kTailMs, 1.5);
}

TEST(UsualLatency, AFaultOfTenMinutesDoesNotBecomeUsual) {
  for (int age : {1, 5, 12, 30, 100}) {
    for (double share : {0.01, 0.03, 0.05}) {
      Operation operation(5 * kNanosPerMilli);
      operation.run_for(age);
      for (int minute = 0; minute < 10; ++minute) {
        operation.run_for(1, share, 350 * kNanosPerMilli);
        EXPECT_LE(operation.tail_ms(), 1.6 * kTailMs) << age << " minutes old, " << share << ", minute " << minute;
      }
      for (int minute = 0; minute < 40; ++minute) {
        operation.run_for(1);
        EXPECT_LE(operation.tail_ms(), 1.6 * kTailMs) << age << " minutes old, " << share << ", after " << minute;
      }
    }
  }
}

TEST(UsualLatency, WhatIsSlowForGoodBecomesUsual) {
  Operation operation(5 * kNanosPerMilli);
  operation.run_for(60);
  operation.run_for(60, 0.08, 100 * kNanosPerMilli);
  EXPECT_GT(operation.tail_ms(), 90) << "a second speed";
  Operation slower(5 * kNanosPerMilli);
  slower.run_for(60);
  slower.become(50 * kNanosPerMilli);
  slower.run_for(10);
  EXPECT_GT(slower.tail_ms(), 7 * kTailMs) << "a third of what counts is still from before";
  slower.run_for(20);
  EXPECT_NEAR(slower.tail_ms(), 10 * kTailMs, 15) << "all of it became slower";
}

TEST(UsualLatency, IsKnownFromAHundredSpansOn) {
  UsualLatency latency;
  for (int i = 0; i < 99; ++i) latency.add(DecayedHistogram::bucket_of(kNanosPerMilli));
  EXPECT_FALSE(latency.is_known());
  latency.add(DecayedHistogram::bucket_of(kNanosPerMilli));
  EXPECT_TRUE(latency.is_known());
  for (int minute = 0; minute < 1000; ++minute) latency.fade(kKept);
  EXPECT_TRUE(latency.is_known()) << "what is rarely called keeps a hundred";
}

}  // namespace
}  // namespace fathom::collector
