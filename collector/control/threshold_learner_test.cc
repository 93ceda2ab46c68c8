#include "collector/control/threshold_learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "ingest/collector_messages.h"
#include "store/batch.h"

namespace fathom::collector {
namespace {

constexpr uint64_t kMilli = 1'000'000;
constexpr uint64_t kNow = 1'000 * kNanosPerSecond;

// Spans of one service; `add` in the order of their calls.
class Spans {
 public:
  explicit Spans(const std::string& service = "shop") {
    store::AttributeView attribute{"service.name", store::ValueView::of_string(service)};
    store::ResourceView resource;
    resource.attributes = std::span(&attribute, 1);
    builder_.set_resource(resource);
  }
  Spans& add(const std::string& name, uint64_t duration_nano, store::SpanKind kind = store::SpanKind::kServer) {
    store::SpanView span;
    span.trace_id.bytes[0] = 1;
    ++number_;
    std::memcpy(span.span_id.bytes.data(), &number_, sizeof number_);
    span.start_unix_nano = 1'795'221'000'000'000'000;
    span.end_unix_nano = span.start_unix_nano + duration_nano;
    span.name = name;
    span.kind = kind;
    builder_.add(span);
    return *this;
  }
  Spans& add(size_t times, const std::string& name, uint64_t duration_nano) {
    for (size_t i = 0; i < times; ++i) add(name, duration_nano);
    return *this;
  }
  store::BatchPtr batch() { return builder_.finish(); }

 private:
  store::BatchBuilder builder_{{.spans_per_batch = 1 << 20, .bytes_per_batch = 1 << 30}};
  uint64_t number_ = 0;
};

uint64_t only_threshold(const std::vector<OperationThreshold>& thresholds) {
  EXPECT_EQ(thresholds.size(), 1u);
  return thresholds.size() == 1 ? thresholds[0].threshold_nano : 0;
}

void expect_within(uint64_t value, uint64_t exact, double error) {
  EXPECT_LE(std::abs(static_cast<double>(value) - static_cast<double>(exact)), error * static_cast<double>(exact) + 1)
      << value << " for " << exact;
}

TEST(DecayedHistogram, QuantilesAreWithinAPercentOfTheExactOnes) {
  std::mt19937_64 random(7);
  for (double spread : {0.1, 0.5, 1.5, 3.0}) {
    std::lognormal_distribution<double> law(std::log(5e6), spread);
    DecayedHistogram histogram;
    std::vector<uint64_t> exact;
    for (int i = 0; i < 20'000; ++i) {
      exact.push_back(static_cast<uint64_t>(law(random)) + 1000);
      histogram.add(DecayedHistogram::bucket_of(exact.back()));
    }
    std::sort(exact.begin(), exact.end());
    for (double q : {0.01, 0.5, 0.9, 0.99, 0.999}) {
      size_t rank = static_cast<size_t>(std::ceil(q * static_cast<double>(exact.size())));
      expect_within(histogram.quantile_nano(q), exact[rank - 1], 0.01);
    }
  }
}

TEST(DecayedHistogram, HoldsAnyDurationInLittleMemory) {
  DecayedHistogram histogram;
  EXPECT_EQ(histogram.quantile_nano(0.99), 0u);
  for (uint64_t duration : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) histogram.add(DecayedHistogram::bucket_of(duration));
  EXPECT_LE(histogram.memory_bytes(), 8192u);
  expect_within(histogram.quantile_nano(0.5), 1000, 0.01);
  expect_within(histogram.quantile_nano(1), 24 * kNanosPerHour, 0.01);
}

TEST(DecayedHistogram, OldCountsFadeAndAreForgotten) {
  DecayedHistogram histogram;
  uint32_t slow = DecayedHistogram::bucket_of(900 * kMilli), quick = DecayedHistogram::bucket_of(kMilli);
  histogram.add(slow, 100);
  for (int i = 0; i < 10; ++i) histogram.decay(0.5);
  histogram.add(quick, 100);
  expect_within(histogram.quantile_nano(0.99), kMilli, 0.01);
  EXPECT_NEAR(histogram.weight(), 100.1, 0.01);
  histogram.decay(0.01);
  EXPECT_NEAR(histogram.weight(), 1, 1e-3) << "what weighs next to nothing is gone";
  histogram.decay(0.001);
  EXPECT_EQ(histogram.weight(), 0);
  EXPECT_EQ(histogram.quantile_nano(0.5), 0u);
}

TEST(DecayedHistogram, ManyCountsKeepTheirShape) {
  DecayedHistogram histogram;
  uint32_t usual = DecayedHistogram::bucket_of(10 * kMilli), slow = DecayedHistogram::bucket_of(100 * kMilli);
  for (int i = 0; i < 400; ++i) {
    histogram.add(usual, 98'500);
    histogram.add(slow, 1'500);
  }
  expect_within(histogram.quantile_nano(0.98), 10 * kMilli, 0.01);
  expect_within(histogram.quantile_nano(0.99), 100 * kMilli, 0.01);
}

TEST(ThresholdLearner, SaysNothingBeforeAHundredSpans) {
  ThresholdLearner learner({});
  learner.took(*Spans().add(99, "GET /", 10 * kMilli).batch());
  EXPECT_TRUE(learner.changes(kNow).empty());
  learner.took(*Spans().add("GET /", 10 * kMilli).batch());
  std::vector<OperationThreshold> changes = learner.changes(kNow);
  expect_within(only_threshold(changes), 20 * kMilli, 0.01);
  EXPECT_EQ(changes[0].service, "shop");
  EXPECT_EQ(changes[0].service_namespace, "");
  EXPECT_EQ(changes[0].operation, "GET /");
  EXPECT_EQ(changes[0].kind, 2);
  EXPECT_TRUE(learner.changes(kNow).empty()) << "it was told";
  EXPECT_EQ(learner.all(), changes);
}

TEST(ThresholdLearner, TheTailIsTheRuleAndTheFloorHolds) {
  ThresholdLearner learner({.floor_nano = 30 * kMilli});
  Spans spans;
  spans.add(980, "tail", 10 * kMilli).add(20, "tail", 100 * kMilli);
  spans.add(995, "rare", 20 * kMilli).add(5, "rare", 100 * kMilli);
  spans.add(1000, "quick", 1000);
  learner.took(*spans.batch());
  std::map<std::string, uint64_t> told;
  for (const OperationThreshold& threshold : learner.changes(kNow)) {
    told[threshold.operation] = threshold.threshold_nano;
  }
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told["tail"], 30 * kMilli) << "2 % may be a fault: the operation is young";
  expect_within(told["rare"], 40 * kMilli, 0.01);
  EXPECT_EQ(told["quick"], 30 * kMilli);
  ThresholdLearner without_floor({.floor_nano = 0});
  without_floor.took(*Spans().add(1000, "quick", 100'000).batch());
  expect_within(only_threshold(without_floor.changes(kNow)), 1'100'000, 0.01);
}

TEST(ThresholdLearner, OperationsAreApartByEveryPartOfTheirName) {
  ThresholdLearner learner({});
  for (const char* service : {"a", "b"}) {
    Spans spans(service);
    for (auto kind : {store::SpanKind::kServer, store::SpanKind::kClient}) {
      for (int i = 0; i < 100; ++i) spans.add("x", 5 * kMilli, kind).add("y", 7 * kMilli, kind);
    }
    learner.took(*spans.batch());
  }
  EXPECT_EQ(learner.changes(kNow).size(), 8u);
}

TEST(ThresholdLearner, UnlearntOperationsHaveTheGivenThreshold) {
  ThresholdLearner learner({.unlearnt_nano = 500 * kMilli});
  learner.took(*Spans().add("GET /", 10 * kMilli).batch());
  EXPECT_EQ(only_threshold(learner.changes(kNow)), 500 * kMilli);
  learner.took(*Spans().add(100, "GET /", 10 * kMilli).batch());
  expect_within(only_threshold(learner.changes(kNow)), 20 * kMilli, 0.01);
  ASSERT_EQ(learner.all().size(), 2u);
  EXPECT_EQ(learner.all()[0], (OperationThreshold{.threshold_nano = 500 * kMilli})) << "of those without a span yet";
}

TEST(ThresholdLearner, ToldAgainWhenItDiffersByMoreThanATenth) {
  ThresholdLearner learner({});
  learner.took(*Spans().add(1000, "GET /", 100 * kMilli).batch());
  ASSERT_EQ(learner.changes(kNow).size(), 1u);
  learner.took(*Spans().add(1000, "GET /", 104 * kMilli).batch());
  EXPECT_TRUE(learner.changes(kNow).empty());
  learner.took(*Spans().add(1000, "GET /", 150 * kMilli).batch());
  expect_within(only_threshold(learner.changes(kNow)), 300 * kMilli, 0.01);
}

TEST(ThresholdLearner, TheLastTenMinutesCount) {
  ThresholdLearner learner({});
  learner.changes(kNow);
  learner.took(*Spans().add(10'000, "GET /", 500 * kMilli).batch());
  expect_within(only_threshold(learner.changes(kNow)), 1000 * kMilli, 0.01);
  uint64_t now = kNow, threshold = 0;
  for (int minute = 0; minute < 60; ++minute) {
    now += kNanosPerMinute;
    learner.took(*Spans().add(10'000, "GET /", 10 * kMilli).batch());
    for (const OperationThreshold& change : learner.changes(now)) threshold = change.threshold_nano;
    if (minute == 5) {
      EXPECT_EQ(threshold, 0u) << "what was slow six minutes ago counts";
    }
  }
  expect_within(threshold, 20 * kMilli, 0.01);
}

TEST(ThresholdLearner, WhatIsRarelyCalledKeepsAHundredSpans) {
  ThresholdLearner learner({.forget_after_nano = 1000 * kNanosPerHour});
  learner.changes(kNow);
  learner.took(*Spans().add(10'000, "nightly", 10 * kMilli).batch());
  ASSERT_EQ(learner.changes(kNow).size(), 1u);
  for (uint64_t minute = 1; minute <= 600; ++minute) {
    EXPECT_TRUE(learner.changes(kNow + minute * kNanosPerMinute).empty()) << minute;
  }
  EXPECT_EQ(learner.all().size(), 1u);
}

TEST(ThresholdLearner, SilentOperationsAreTakenBackAndMakeRoom) {
  ThresholdLearner learner({.max_operations = 1});
  learner.took(*Spans().add(100, "a", 10 * kMilli).batch());
  ASSERT_EQ(learner.changes(kNow).size(), 1u);
  Counter& beyond = counter("fathom_limited_total", "", "limit=\"threshold_operations\"");
  uint64_t before = beyond.value();
  learner.took(*Spans().add(100, "b", 10 * kMilli).batch());
  EXPECT_EQ(beyond.value(), before + 100);
  EXPECT_TRUE(learner.changes(kNow + kNanosPerHour - 1).empty());
  EXPECT_EQ(only_threshold(learner.changes(kNow + kNanosPerHour)), 0u);
  EXPECT_TRUE(learner.all().empty());
  learner.took(*Spans().add(100, "b", 10 * kMilli).batch());
  EXPECT_EQ(learner.changes(kNow + kNanosPerHour).at(0).operation, "b");
}

TEST(ThresholdLearner, NamesAreBoundedInAll) {
  ThresholdLearner learner({.max_name_bytes = 2 * 104});  // "shop", and 100 bytes
  Counter& beyond = counter("fathom_limited_total", "", "limit=\"threshold_operations\"");
  uint64_t before = beyond.value();
  for (char c : {'a', 'b', 'c'}) learner.took(*Spans().add(100, std::string(100, c), 10 * kMilli).batch());
  EXPECT_EQ(learner.changes(kNow).size(), 2u);
  EXPECT_EQ(beyond.value(), before + 100);
  learner.took(*Spans().add(100, std::string(100, 'a'), 10 * kMilli).batch());
  EXPECT_EQ(beyond.value(), before + 100) << "it has its room";
  learner.changes(kNow + kNanosPerHour);
  learner.changes(kNow + 2 * kNanosPerHour);
  EXPECT_TRUE(learner.all().empty());
  for (char c : {'c', 'd'}) learner.took(*Spans().add(100, std::string(100, c), 10 * kMilli).batch());
  EXPECT_EQ(learner.changes(kNow + 2 * kNanosPerHour).size(), 2u) << "what is forgotten makes room";
}

// What an agent may leave unread is 16 MiB (AgentStream): it must be possible to tell it all, and some changes.
TEST(ThresholdLearner, AllThresholdsAreAFewMegabytesWhateverTheNames) {
  const std::string service(1000, 's'), name(1000, 'n');
  ThresholdLearner learner({.unlearnt_nano = kMilli});
  for (int batch = 0; batch < 10; ++batch) {
    Spans spans(service);
    for (int i = 0; i < 1000; ++i) spans.add(name + std::to_string(batch * 1000 + i), 10 * kMilli);
    learner.took(*spans.batch());
  }
  learner.changes(kNow);
  size_t bytes = 0;
  for (const std::string& message : ingest::encode_in_parts(ingest::Thresholds{true, learner.all()}))
    bytes += message.size();
  EXPECT_GT(bytes, 3u << 20);
  EXPECT_LT(bytes, 5u << 20);
}

TEST(ThresholdLearner, LongNamesAreNotLearnt) {
  ThresholdLearner learner({});
  learner.took(*Spans(std::string(2000, 's')).add(100, "a", 10 * kMilli).batch());
  EXPECT_TRUE(learner.changes(kNow).empty());
}

TEST(ThresholdLearner, ASeedIsWhatTheStoreCounted) {
  store::OperationStats stats;
  stats.key = {"prod", "shop", "GET /", store::SpanKind::kServer};
  stats.durations.record(10 * kMilli, 98'000'000);
  stats.durations.record(50 * kMilli, 2'000'000);
  stats.spans = stats.durations.count();
  store::OperationStats others = stats;
  others.key.operation = store::kOtherOperation;
  ThresholdLearner learner({});
  learner.seed({stats, others});
  std::vector<OperationThreshold> changes = learner.changes(kNow);
  expect_within(only_threshold(changes), 20 * kMilli, 0.02);  // plus the rounding of the store's buckets
  EXPECT_EQ(changes[0].service_namespace, "prod");
  learner.seed({store::OperationStats{}});
  EXPECT_TRUE(learner.changes(kNow).empty());
}

TEST(ThresholdLearner, ManyThreadsTeachAtOnce) {
  constexpr int kThreads = 4, kBatches = 50;
  ThresholdLearner learner({});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kBatches; ++i) learner.took(*Spans().add(1, "a", 9 * kMilli).add(1, "b", kMilli).batch());
    });
  }
  std::vector<OperationThreshold> told;
  auto hear = [&] {
    for (OperationThreshold& change : learner.changes(kNow)) told.push_back(std::move(change));
  };
  for (int i = 0; i < 20; ++i) hear();
  for (std::thread& thread : threads) thread.join();
  hear();
  EXPECT_EQ(told.size(), 2u) << "each reaches 100 spans, and stays what it is";
}

// Asserts nothing about time: collector_tests --gtest_also_run_disabled_tests --gtest_filter='*LearnerSpeed*'
TEST(LearnerSpeed, DISABLED_PerSpan) {
  ThresholdLearner learner({});
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> law(std::log(5e6), 1);
  for (size_t size : {100, 500, 8000}) {
    Spans spans;
    for (size_t i = 0; i < size; ++i) {
      spans.add("operation " + std::to_string(random() % 20), static_cast<uint64_t>(law(random)));
    }
    store::BatchPtr batch = spans.batch();
    const size_t times = 4'000'000 / size;
    learner.took(*batch);
    uint64_t start = now_monotonic_nano();
    for (size_t i = 0; i < times; ++i) learner.took(*batch);
    double nano = static_cast<double>(now_monotonic_nano() - start) / static_cast<double>(times * size);
    std::printf("%zu spans of 20 operations in a batch: %.1f ns per span\n", size, nano);
  }
  for (int i = 0; i < 10'000; ++i) {
    learner.took(*Spans(std::to_string(i)).add(10, "x", 5 * kMilli).add(10, "x", 9 * kMilli).batch());
  }
  uint64_t start = now_monotonic_nano();
  learner.changes(start);
  learner.changes(start + kNanosPerMinute);
  std::printf("changes() of 10,000 operations: %.1f ms\n", static_cast<double>(now_monotonic_nano() - start) / 2e6);
}

}  // namespace
}  // namespace fathom::collector
