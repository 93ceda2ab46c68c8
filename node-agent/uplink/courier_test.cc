#include "node-agent/uplink/courier.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "node-agent/uplink/testing/courier_fixture.h"

namespace fathom::agent {
namespace {

using namespace testing;

TEST_F(CourierTest, SendsAndIsAcknowledged) {
  make();
  send(1);
  connect();
  send(2);
  EXPECT_EQ(sent(), (std::vector<int>{1, 2}));
  EXPECT_EQ(world_.link->batches[0].otlp(), std::string(100, 'b'));
  EXPECT_EQ(world_.link->batches[1].sequence(), 2u);
  EXPECT_TRUE(outcomes_.empty());
  ack(2);
  EXPECT_EQ(outcome(2), kept_);
  EXPECT_TRUE(outcome(1).empty());
  ack(1);
  ack(1);
  EXPECT_EQ(outcome(1), kept_) << "once";
  EXPECT_EQ(courier_->status().acknowledged_spans, 20u);
  EXPECT_EQ(courier_->status().memory_bytes, 0u);
}

TEST_F(CourierTest, BatchesCarryTheOffset) {
  make();
  connect();
  send(1);
  const auto& clock = world_.link->batches.at(0).clock();
  EXPECT_EQ(clock.offset_nano(), static_cast<int64_t>(5 * kSecond) - static_cast<int64_t>(FakeWorld::kRealMinusBoot));
  EXPECT_LT(clock.error_nano(), kMilli);
  ASSERT_TRUE(courier_->status().clock);
  EXPECT_EQ(courier_->status().clock->offset_nano, clock.offset_nano());
  EXPECT_EQ(courier_->status().clock->measured_unix_nano, world_.now + FakeWorld::kRealMinusBoot);
}

// What moved since the spans ended is in the error, also out of the spool.
TEST_F(CourierTest, TheErrorCoversTheAgeOfTheSpans) {
  make();
  connect();
  send(1);
  send(2, 100, 10 * kSecond);
  uint64_t fresh = world_.link->batches.at(0).clock().error_nano();
  uint64_t aged = world_.link->batches.at(1).clock().error_nano();
  EXPECT_GE(aged, fresh + 10 * kMilli);
  EXPECT_LE(aged, fresh + 11 * kMilli);
  EXPECT_EQ(world_.link->batches[0].clock().offset_nano(), world_.link->batches[1].clock().offset_nano());
  make();
  pass(1100 * kMilli);
  send(3, 100, 100 * kSecond);
  pass(100 * kMilli);
  connect();
  pass(100 * kMilli);
  EXPECT_GE(world_.link->batches.at(0).clock().error_nano(), 100 * kMilli);
}

TEST_F(CourierTest, WaitsAMomentForTheOffsetButNotLonger) {
  make();
  send(1);
  pass(50 * kMilli);
  world_.link->welcome();
  world_.run();
  pass(500 * kMilli);
  EXPECT_TRUE(sent().empty());
  pass(600 * kMilli);
  EXPECT_EQ(sent(), std::vector<int>{1});
  EXPECT_FALSE(world_.link->batches[0].has_clock()) << "none is known";
}

TEST_F(CourierTest, KeepsToTheWindow) {
  make();
  connect(250, 3);
  for (uint8_t n = 1; n <= 6; ++n) send(n);
  EXPECT_EQ(sent().size(), 2u) << "bytes";
  ack(1);
  EXPECT_EQ(sent().size(), 3u);
  make();
  connect(100'000, 3);
  for (uint8_t n = 1; n <= 6; ++n) send(n);
  EXPECT_EQ(sent().size(), 3u) << "batches";
}

TEST_F(CourierTest, ALargeBatchGoesAloneAndATooLargeOneIsRefused) {
  make();
  connect(50, 10, 300);
  send(1, 200);
  EXPECT_EQ(sent(), std::vector<int>{1});
  uint64_t refused = lost("refused");
  send(2, 301);
  ack(1);
  EXPECT_EQ(lost("refused"), refused + 10);
  EXPECT_EQ(outcome(2), std::vector<Outcome>{Outcome::kRefused});
  EXPECT_EQ(courier_->status().refused_spans, 10u);
}

TEST_F(CourierTest, KnowsTheLargestBatchOfTheLastWelcome) {
  make();
  EXPECT_EQ(courier_->most_bytes(), UINT64_MAX);
  connect(1000, 10, 300);
  EXPECT_EQ(courier_->most_bytes(), 300u);
  break_link();
  EXPECT_EQ(courier_->most_bytes(), 300u);
  connect(1000, 10, 0);
  EXPECT_EQ(courier_->most_bytes(), UINT64_MAX) << "a collector that says no limit";
}

TEST_F(CourierTest, BackPressureIsRoom) {
  make({.memory_bytes = 1000});
  EXPECT_TRUE(courier_->room(100'000)) << "one always fits";
  send(1, 600);
  EXPECT_TRUE(courier_->room(400));
  EXPECT_FALSE(courier_->room(401));
  connect();
  ack(1);
  EXPECT_TRUE(courier_->room(1000));
}

TEST_F(CourierTest, WhatADeadStreamHadUnderWayComesFirstOnTheNext) {
  make();
  connect(100'000, 3);
  for (uint8_t n = 1; n <= 5; ++n) send(n);
  ack(2);
  break_link();
  EXPECT_EQ(outcome(2), kept_);
  connect();
  EXPECT_EQ(sent(), (std::vector<int>{1, 3, 4, 5}));
  EXPECT_EQ(world_.link->batches[0].sequence(), 1u) << "sequences are the stream's own";
  for (uint64_t sequence = 1; sequence <= 4; ++sequence) ack(sequence);
  for (uint8_t n = 1; n <= 5; ++n) EXPECT_EQ(outcome(n), kept_);
}

TEST_F(CourierTest, ARepeatedBatchKeepsItsStamp) {
  make();
  connect();
  send(1);
  auto first = world_.link->batches.at(0).clock();
  break_link();
  while (world_.link == nullptr) pass(50 * kMilli);
  world_.link->welcome();
  world_.run();
  answer_probe(900 * kSecond);
  EXPECT_EQ(world_.link->batches.at(0).clock().offset_nano(), first.offset_nano());
  send(2);
  EXPECT_NE(world_.link->batches.at(1).clock().offset_nano(), first.offset_nano());
}

TEST_F(CourierTest, ComesBackWithABackoffThatGrowsAndEnds) {
  make();
  pass(50 * kMilli);
  std::vector<uint64_t> gaps;
  for (int i = 0; i < 12; ++i) {
    uint64_t ended = world_.now;
    int links = world_.links;
    break_link();
    while (world_.links == links) pass(50 * kMilli);
    gaps.push_back(world_.now - ended);
  }
  EXPECT_LE(gaps.front(), 250 * kMilli);
  EXPECT_GE(gaps.back(), 2 * kSecond);
  EXPECT_LE(*std::max_element(gaps.begin(), gaps.end()), 5 * kSecond + 50 * kMilli);
  connect();
  pass(3 * kSecond);
  uint64_t ended = world_.now;
  break_link();
  while (world_.link == nullptr) pass(50 * kMilli);
  EXPECT_LE(world_.now - ended, 150 * kMilli) << "after a stream that lived";
}

TEST_F(CourierTest, AStreamThatIsNotWelcomedInTimeIsClosed) {
  make();
  pass(50 * kMilli);
  EXPECT_EQ(world_.links, 1);
  pass(4900 * kMilli);
  EXPECT_EQ(world_.links, 1);
  pass(kSecond);
  EXPECT_EQ(world_.links, 2);
}

TEST_F(CourierTest, RetryHaltsEverythingAndThenOneTriesAlone) {
  make({.spool_after_nano = 1000 * kSecond, .stalled_after_nano = 1000 * kSecond});
  connect();
  for (uint8_t n = 1; n <= 3; ++n) send(n);
  uint64_t retries = counted("fathom_agent_retries_total");
  ack(1, Ack::kRetry, 2 * kSecond);
  EXPECT_EQ(counted("fathom_agent_retries_total"), retries + 1);
  send(4);
  EXPECT_EQ(sent(), (std::vector<int>{1, 2, 3}));
  ack(2);
  ack(3, Ack::kRetry, kSecond);
  pass(1900 * kMilli);
  EXPECT_EQ(sent().size(), 3u);
  pass(700 * kMilli);
  EXPECT_EQ(sent(), (std::vector<int>{1, 2, 3, 3})) << "one";
  EXPECT_EQ(world_.link->batches[3].sequence(), 4u);
  ack(4);
  EXPECT_EQ(sent(), (std::vector<int>{1, 2, 3, 3, 1, 4})) << "then all";
  EXPECT_TRUE(outcome(1).empty());
  EXPECT_EQ(outcome(3), kept_);
}

TEST_F(CourierTest, RefusedIsCountedAndSoAreRejectedSpans) {
  make();
  connect();
  uint64_t refused = lost("refused"), rejected = lost("rejected");
  uint64_t acknowledged = counted("fathom_agent_acknowledged_spans_total");
  send(1);
  send(2);
  ack(1, Ack::kRefused);
  ack(2, Ack::kDurable, 0, 4);
  EXPECT_EQ(lost("refused"), refused + 10);
  EXPECT_EQ(lost("rejected"), rejected + 4);
  EXPECT_EQ(counted("fathom_agent_acknowledged_spans_total"), acknowledged + 6);
  EXPECT_EQ(outcome(1), std::vector<Outcome>{Outcome::kRefused});
  EXPECT_EQ(outcome(2), kept_);
  EXPECT_EQ(courier_->status().refused_spans, 14u);
  EXPECT_EQ(courier_->status().acknowledged_spans, 6u);
}

TEST_F(CourierTest, ProbesAndReportsComeByThemselves) {
  make();
  connect();
  EXPECT_EQ(world_.link->probes, 1);
  ASSERT_EQ(world_.link->statuses.size(), 1u);
  EXPECT_EQ(world_.link->statuses[0].programs(), 7u);
  pass(7 * kSecond);
  EXPECT_EQ(world_.link->probes, 8) << "one of them behind the second report, at once";
  EXPECT_EQ(world_.link->statuses.size(), 3u) << "one more when the clock is known";
  pass(40 * kSecond);
  EXPECT_EQ(world_.link->probes, 48);
}

TEST_F(CourierTest, AReportIsToldWhenAProbeBehindItIsAnswered) {
  make();
  world_.lost = 1;
  connect();
  EXPECT_EQ(world_.told, std::vector<int>{1});
  world_.lost = 2;
  pass(50 * kMilli);
  ASSERT_EQ(world_.link->last_report, 2u);
  world_.lost = 3;
  answer_probe_behind(1);
  EXPECT_EQ(world_.told, std::vector<int>{1}) << "that probe was on its way before";
  answer_probe_behind(2);
  EXPECT_EQ(world_.told, (std::vector<int>{1, 2})) << "what it said, and not what came since";
  answer_probe_behind(2);
  EXPECT_EQ(world_.told.size(), 2u) << "once";
}

TEST_F(CourierTest, AReportIsToldByTheAnswerToALaterOneButNotByAnotherStream) {
  make();
  connect();
  world_.told.clear();
  for (world_.lost = 1; world_.lost < 20; ++world_.lost) pass(5 * kSecond);
  answer_probe();
  EXPECT_EQ(world_.told.front(), 1);
  EXPECT_EQ(world_.told.back(), 19) << "however many were not answered";
  world_.told.clear();
  world_.lost = 100;
  pass(5 * kSecond);
  uint64_t before = world_.link->last_report;
  break_link();
  while (world_.link == nullptr) pass(50 * kMilli);
  world_.lost = 101;
  world_.link->welcome();
  world_.run();
  EXPECT_GT(world_.link->last_report, before);
  answer_probe();
  EXPECT_EQ(world_.told, std::vector<int>{101});
}

TEST_F(CourierTest, NothingIsHeardOfACourierThatIsGone) {
  make();
  connect();
  send(1);
  world_.link->ack(1);
  courier_->status();
  auto posted = std::move(world_.posted);
  courier_.reset();
  for (auto& work : posted) work();
  EXPECT_TRUE(outcomes_.empty());
}

}  // namespace
}  // namespace fathom::agent
