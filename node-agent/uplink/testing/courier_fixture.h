// A Courier in a FakeWorld, and what tests do to both.
//
// Header-only, because only tests of this folder share it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "node-agent/testing/nano.h"
#include "node-agent/uplink/courier.h"
#include "node-agent/uplink/testing/fake_world.h"

namespace fathom::agent::testing {

using Ack = ingest::Ack::Outcome;

class CourierTest : public ::testing::Test {
 protected:
  void make(UplinkOptions options = {}) { courier_ = world_.courier(std::move(options)); }
  void send(uint8_t number, size_t bytes = 100, uint64_t age_nano = 0) {
    OutgoingBatch batch;
    batch.identity[0] = number;
    batch.otlp = std::string(bytes, static_cast<char>('a' + number % 26));
    batch.spans = 10;
    batch.oldest_age_nano = age_nano;
    sending_ = true;
    courier_->send(std::move(batch), [this, number](Outcome outcome) {
      EXPECT_FALSE(sending_) << "never from within send()";
      outcomes_[number].push_back(outcome);
    });
    sending_ = false;
  }
  void pass(uint64_t nano) {
    for (uint64_t end = world_.now + nano; world_.now < end;) {
      world_.now = std::min(end, world_.now + 50 * kMilli);
      courier_->tick();
      world_.run();
    }
  }
  // A stream with everything said that lets batches go.
  void connect(uint64_t window = 1'000'000, uint32_t most = 100, uint64_t max_batch = 100'000) {
    while (world_.link == nullptr) pass(50 * kMilli);
    world_.link->welcome(window, most, max_batch);
    world_.run();
    answer_probe();
  }
  void answer_probe(int64_t collector_minus_boot = 5 * static_cast<int64_t>(kSecond)) {
    answer_probe_behind(world_.link->last_report, collector_minus_boot);
  }
  // One that was written when this report was the last.
  void answer_probe_behind(uint64_t report, int64_t collector_minus_boot = 5 * static_cast<int64_t>(kSecond)) {
    uint64_t there = world_.now + static_cast<uint64_t>(collector_minus_boot);
    world_.link->answer_probe({world_.now, there, there, world_.now}, report);
    world_.run();
  }
  void ack(uint64_t sequence, Ack outcome = Ack::kDurable, uint64_t retry_after = 0, uint64_t rejected = 0) {
    world_.link->ack(sequence, outcome, retry_after, rejected);
    world_.run();
  }
  void break_link() {
    world_.link->end();
    world_.run();
  }
  // The first bytes of the identities that this stream got, in order.
  std::vector<int> sent() const {
    std::vector<int> numbers;
    for (const auto& batch : world_.link->batches) numbers.push_back(static_cast<uint8_t>(batch.identity()[0]));
    return numbers;
  }
  static uint64_t counted(const char* name, const std::string& labels = "") {
    return counter(name, "", labels).value();
  }
  static uint64_t lost(const char* reason) { return counted("fathom_agent_lost_spans_total", label("reason", reason)); }
  std::vector<Outcome> outcome(uint8_t number) { return outcomes_[number]; }
  const std::vector<Outcome> kept_{Outcome::kKept};

  FakeWorld world_;
  std::unique_ptr<Courier> courier_;
  std::map<uint8_t, std::vector<Outcome>> outcomes_;
  bool sending_ = false;
};

}  // namespace fathom::agent::testing
