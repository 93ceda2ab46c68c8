#include "node-agent/uplink/courier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "node-agent/uplink/testing/courier_fixture.h"

namespace fathom::agent {
namespace {

using namespace testing;

TEST_F(CourierTest, SpoolsWhileTheCollectorIsAwayAndDrainsInOrder) {
  make();
  send(1);
  pass(900 * kMilli);
  EXPECT_TRUE(outcomes_.empty()) << "a moment is waited";
  pass(200 * kMilli);
  EXPECT_EQ(outcome(1), kept_);
  send(2);
  send(3);
  pass(100 * kMilli);
  EXPECT_EQ(outcome(3), kept_);
  EXPECT_EQ(world_.spool->entries.size(), 3u);
  EXPECT_EQ(courier_->status().memory_bytes, 0u);
  connect();
  pass(50 * kMilli);
  EXPECT_EQ(sent(), (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(world_.link->batches[0].has_clock()) << "measured since";
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) ack(sequence);
  EXPECT_TRUE(world_.spool->entries.empty());
  EXPECT_EQ(outcome(1), kept_) << "once";
}

TEST_F(CourierTest, LiveBatchesGoBesideSpooledOnes) {
  make();
  pass(1100 * kMilli);
  for (uint8_t n = 1; n <= 6; ++n) send(n);
  pass(100 * kMilli);
  EXPECT_EQ(world_.spool->entries.size(), 6u);
  connect(100'000, 1);
  for (uint8_t n = 11; n <= 14; ++n) send(n);
  for (uint64_t sequence = 1; sequence <= 10; ++sequence) ack(sequence);
  std::vector<int> order = sent();
  ASSERT_EQ(order.size(), 10u);
  EXPECT_LE(std::find(order.begin(), order.end(), 3) - order.begin(), 6);
  EXPECT_LE(std::find(order.begin(), order.end(), 13) - order.begin(), 7);
  std::vector<int> spooled, live;
  for (int number : order) (number < 10 ? spooled : live).push_back(number);
  EXPECT_TRUE(std::is_sorted(spooled.begin(), spooled.end()));
  EXPECT_TRUE(std::is_sorted(live.begin(), live.end()));
}

TEST_F(CourierTest, WhatWaitsLongForAFullWindowIsSpooled) {
  make();
  connect(100'000, 1);
  send(1);
  send(2);
  pass(1100 * kMilli);
  EXPECT_EQ(outcome(2), kept_);
  EXPECT_TRUE(outcome(1).empty()) << "it is under way";
  pass(2 * kSecond);
  EXPECT_EQ(outcome(1), kept_) << "but not answered for long";
  EXPECT_EQ(world_.spool->entries.size(), 2u);
  ack(1);
  EXPECT_EQ(world_.spool->entries.size(), 1u) << "answered after all";
  ack(2);
  EXPECT_TRUE(world_.spool->entries.empty());
  EXPECT_EQ(sent(), (std::vector<int>{1, 2}));
}

TEST_F(CourierTest, AStalledBatchIsSentAgainFromTheSpoolWhenItsStreamDies) {
  make();
  connect();
  send(1);
  pass(3200 * kMilli);
  EXPECT_EQ(outcome(1), kept_);
  break_link();
  connect();
  pass(100 * kMilli);
  EXPECT_EQ(sent(), std::vector<int>{1});
  ack(1);
  EXPECT_TRUE(world_.spool->entries.empty());
}

TEST_F(CourierTest, AnAnswerDuringTheSpoolingCounts) {
  make();
  connect();
  send(1);
  pass(2950 * kMilli);
  world_.now += 60 * kMilli;
  courier_->tick();  // the append is under way
  ASSERT_FALSE(world_.posted.empty());
  world_.link->ack(1);
  std::rotate(world_.posted.begin(), std::prev(world_.posted.end()), world_.posted.end());
  world_.run();
  EXPECT_EQ(outcome(1), kept_);
  EXPECT_TRUE(world_.spool->entries.empty());
}

TEST_F(CourierTest, AStreamThatDiesDuringTheSpoolingLosesNothing) {
  for (bool full : {false, true}) {
    make();
    outcomes_.clear();
    connect();
    send(1);
    pass(2950 * kMilli);
    world_.now += 60 * kMilli;
    courier_->tick();
    world_.spool->room = full ? 0 : 100;
    world_.link->end();
    std::rotate(world_.posted.begin(), std::prev(world_.posted.end()), world_.posted.end());
    world_.run();
    connect();
    pass(100 * kMilli);
    EXPECT_EQ(sent(), std::vector<int>{1});
    ack(1);
    EXPECT_EQ(outcome(1), kept_);
    EXPECT_TRUE(world_.spool->entries.empty());
  }
}

TEST_F(CourierTest, AFullSpoolIsBackPressure) {
  make({.memory_bytes = 300});
  world_.spool->room = 2;
  uint64_t spooled = counted("fathom_agent_spooled_spans_total"), full = counted("fathom_agent_spool_full_total");
  for (uint8_t n = 1; n <= 4; ++n) send(n);
  pass(1500 * kMilli);
  EXPECT_EQ(counted("fathom_agent_spooled_spans_total"), spooled + 20);
  EXPECT_GT(counted("fathom_agent_spool_full_total"), full);
  EXPECT_EQ(outcome(2), kept_);
  EXPECT_TRUE(outcome(3).empty());
  EXPECT_FALSE(courier_->room(200));
  world_.spool->room = 4;
  pass(1500 * kMilli);
  EXPECT_EQ(outcome(4), kept_);
  connect();
  pass(50 * kMilli);
  std::vector<int> order = sent();
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
}

TEST_F(CourierTest, ASpoolThatCannotBeReadIsTriedAgainEachSecond) {
  make();
  pass(1100 * kMilli);
  send(1);
  pass(100 * kMilli);
  EXPECT_EQ(outcome(1), kept_);
  world_.spool->readable = false;
  connect();
  pass(3 * kSecond);
  EXPECT_TRUE(sent().empty());
  EXPECT_GE(world_.spool->takes, 3);
  EXPECT_LE(world_.spool->takes, 5);
  world_.spool->readable = true;
  pass(1100 * kMilli);
  EXPECT_EQ(sent(), std::vector<int>{1});
}

TEST_F(CourierTest, TheSpoolIsTendedNowAndThenAlsoWithoutAStream) {
  make();
  int before = world_.spool->tended;
  pass(60 * kSecond);
  EXPECT_GE(world_.spool->tended, before + 5);
  EXPECT_LE(world_.spool->tended, before + 7);
}

TEST_F(CourierTest, WithoutALimitNothingIsSpooledAndWhatLiesThereIsSent) {
  make({.spool_limit_bytes = 0});
  world_.spool->entries[7] = {.head = {.identity = {9}, .spans = 1, .built = {}, .clock = {}}, .otlp = "old"};
  send(1);
  pass(3 * kSecond);
  EXPECT_TRUE(outcomes_.empty());
  EXPECT_EQ(world_.spool->entries.size(), 1u);
  connect();
  pass(100 * kMilli);
  EXPECT_EQ(sent(), (std::vector<int>{1, 9}));
  ack(2);
  EXPECT_TRUE(world_.spool->entries.empty());
  bool finished = false;
  break_link();
  courier_->finish(kSecond, [&] { finished = true; });
  pass(100 * kMilli);
  EXPECT_TRUE(finished);
  EXPECT_TRUE(outcome(1).empty()) << "the pool still has it";
}

TEST_F(CourierTest, AnotherLimitOfTheSpoolTakesAtOnce) {
  make({.spool_limit_bytes = 0});
  send(1);
  pass(3 * kSecond);
  EXPECT_TRUE(world_.spool->entries.empty());
  courier_->set_spool_limit(5000);
  EXPECT_EQ(world_.spool->limit_bytes, 5000u);
  pass(100 * kMilli);
  EXPECT_EQ(world_.spool->entries.size(), 1u);
  world_.spool->room = 1;
  send(2);
  pass(1500 * kMilli);
  EXPECT_EQ(world_.spool->entries.size(), 1u) << "it is full";
  world_.spool->room = 2;
  courier_->set_spool_limit(6000);
  pass(100 * kMilli);
  EXPECT_EQ(world_.spool->entries.size(), 2u) << "nobody waits until it is tried again";
  courier_->set_spool_limit(0);
  send(3);
  pass(3 * kSecond);
  EXPECT_EQ(world_.spool->entries.size(), 2u);
}

TEST_F(CourierTest, FinishesWhenAllIsAcknowledged) {
  make();
  connect();
  send(1);
  bool finished = false;
  courier_->finish(10 * kSecond, [&] { finished = true; });
  pass(100 * kMilli);
  EXPECT_FALSE(finished);
  size_t reports = world_.link->statuses.size();
  world_.lost = 8;
  ack(1);
  pass(100 * kMilli);
  EXPECT_EQ(world_.link->statuses.size(), reports + 1) << "the last";
  EXPECT_FALSE(finished) << "and nobody knows whether it was heard";
  answer_probe();
  EXPECT_EQ(world_.told.back(), 8);
  pass(50 * kMilli);
  EXPECT_TRUE(finished);
  EXPECT_TRUE(world_.spool->entries.empty());
}

TEST_F(CourierTest, FinishWaitsForItsLastReportForASecondAtMost) {
  make();
  connect();
  bool finished = false;
  courier_->finish(0, [&] { finished = true; });
  pass(950 * kMilli);
  EXPECT_FALSE(finished);
  pass(100 * kMilli);
  EXPECT_TRUE(finished);
  make();
  connect();
  finished = false;
  courier_->finish(0, [&] { finished = true; });
  break_link();
  pass(50 * kMilli);
  EXPECT_TRUE(finished) << "there is nobody to hear it";
}

TEST_F(CourierTest, FinishSpoolsWhatIsNotAnswered) {
  make();
  connect(100'000, 1);
  send(1);
  send(2);
  bool finished = false;
  courier_->finish(500 * kMilli, [&] { finished = true; });
  pass(400 * kMilli);
  EXPECT_FALSE(finished);
  pass(200 * kMilli);
  answer_probe();
  pass(50 * kMilli);
  EXPECT_TRUE(finished);
  EXPECT_EQ(outcome(1), kept_);
  EXPECT_EQ(outcome(2), kept_);
  EXPECT_EQ(world_.spool->entries.size(), 2u);
}

TEST_F(CourierTest, FinishWithoutAStreamSpoolsAtOnceAndAFullSpoolDoesNotHoldItUp) {
  make();
  world_.spool->room = 1;
  send(1);
  send(2);
  bool finished = false;
  courier_->finish(10 * kSecond, [&] { finished = true; });
  world_.run();
  pass(100 * kMilli);
  EXPECT_TRUE(finished);
  EXPECT_EQ(outcome(1), kept_);
  EXPECT_TRUE(outcome(2).empty()) << "the pool still has it";
}

// Streams that break, answers of every kind, a spool that is full now and then, at random: each batch is told of once,
// and what was told kept is at the collector or in the spool.
class CourierRandom : public CourierTest, public ::testing::WithParamInterface<uint32_t> {
 protected:
  // The sequences that this stream brought and nobody answered.
  void hear() {
    if (links_ != world_.links) {
      links_ = world_.links;
      read_ = 0;
      unanswered_.clear();
    }
    if (world_.link == nullptr) return;
    for (; read_ < world_.link->batches.size(); ++read_) {
      unanswered_.push_back(world_.link->batches[read_].sequence());
    }
  }
  void answer_one(bool durable, bool answer_is_lost) {
    hear();
    if (world_.link == nullptr || unanswered_.empty()) return;
    size_t at = random_() % unanswered_.size();
    uint64_t sequence = unanswered_[at];
    unanswered_.erase(unanswered_.begin() + static_cast<std::ptrdiff_t>(at));
    const auto& batch = world_.link->batches.at(sequence - 1);
    if (durable) at_collector_.insert(static_cast<uint8_t>(batch.identity()[0]));
    if (answer_is_lost) return break_link();
    ack(sequence, durable ? Ack::kDurable : Ack::kRetry, random_() % kSecond);
  }
  void welcome() {
    if (world_.link == nullptr) return;
    world_.link->welcome(500 + random_() % 1000, 1 + random_() % 5);
    world_.run();
    if (world_.link != nullptr) answer_probe();
  }
  void step() {
    uint32_t what = random_() % 100;
    if (what < 20) {
      if (next_ < 250 && courier_->room(300)) send(next_++, 1 + random_() % 300);
    } else if (what < 30) {
      if (world_.link != nullptr && random_() % 3 == 0) break_link();
    } else if (what < 45) {
      welcome();
    } else if (what < 50) {
      world_.spool->room = random_() % 3 == 0 ? 0 : 40;
    } else if (what < 70) {
      pass(random_() % (2 * kSecond));
    } else {
      answer_one(random_() % 4 != 0, random_() % 8 == 0);
    }
  }
  bool in_spool(uint8_t number) const {
    return std::any_of(world_.spool->entries.begin(), world_.spool->entries.end(),
                       [&](const auto& item) { return item.second.head.identity[0] == number; });
  }
  void check() {
    for (const auto& [number, told] : outcomes_) {
      ASSERT_EQ(told, kept_) << "batch " << int{number};
      ASSERT_TRUE(in_spool(number) || at_collector_.contains(number)) << "batch " << int{number};
    }
  }
  bool all_is_home() const {
    return at_collector_.size() + 1 == next_ && world_.spool->entries.empty() && courier_->status().memory_bytes == 0;
  }
  void go_home() {
    world_.spool->room = SIZE_MAX;
    for (int i = 0; i < 5000 && !all_is_home(); ++i) {
      if (!courier_->status().connected) connect();
      pass(100 * kMilli);
      for (int n = 0; n < 20; ++n) answer_one(true, false);
    }
  }

  std::mt19937 random_{GetParam()};
  std::set<int> at_collector_;
  std::vector<uint64_t> unanswered_;
  size_t read_ = 0;
  int links_ = 0;
  uint8_t next_ = 1;
};

TEST_P(CourierRandom, EveryBatchIsKeptOnce) {
  make({.memory_bytes = 3000});
  for (int i = 0; i < 600; ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    step();
    check();
    ASSERT_FALSE(HasFatalFailure());
  }
  go_home();
  EXPECT_TRUE(all_is_home());
  EXPECT_EQ(outcomes_.size() + 1, next_);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CourierRandom, ::testing::Range(0u, 100u));

}  // namespace
}  // namespace fathom::agent
