// Power cuts under load: what was acknowledged is there, whole, once and under its own name; what was not acknowledged
// is there whole or not at all. The same with Durability::kOs loses spans, which shows that these tests could fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "base/testing/repetitions.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kSpanSenders = 3;
constexpr uint64_t kSpansPerSenderBatch = 3;

uint64_t own_trace(uint64_t sender, uint64_t number) {
  return sender * 1'000'000 + number;
}
std::string service_of(uint64_t sender) {
  return "sender-" + std::to_string(sender);
}
// New operations keep turning up, so that the catalogue grows all the time.
std::string operation_of(uint64_t number) {
  return "operation-" + std::to_string(number / 3);
}

// Two spans in a trace of their own, and one more in the sender's long trace.
BatchPtr sender_batch(uint64_t sender, uint64_t number) {
  uint64_t trace = own_trace(sender, number);
  std::vector<TestSpan> spans = {test_span(trace, 1, 0, 100 + number), test_span(trace, 2, 10, 5).parent(1),
                                 test_span(sender, number + 1, static_cast<int64_t>(number), 7)};
  for (TestSpan& span : spans) span.of_service(service_of(sender)).named(operation_of(number));
  return make_batch(spans);
}

RocksOptions small_segments(Durability durability) {
  RocksOptions options;
  options.durability = durability;
  options.segment_spans = 40;
  options.sealing_limit = 1000;  // nobody seals after the cut, and nobody shall wait for it
  return options;
}

class PowerCuts {
 public:
  PowerCuts(Durability durability, uint64_t seed) : rig_(small_segments(durability)), random_(seed) {}

  void run(int cuts) {
    ASSERT_EQ(rig_.open(), "");
    for (int cut = 0; cut < cuts; ++cut) {
      write_until_cut();
      ASSERT_EQ(rig_.cut_power(random_() % 2 ? std::optional<uint64_t>(random_()) : std::nullopt), "");
      check();
      send_again();
      check();
      if (random_() % 2) {
        ASSERT_TRUE(rig_.store().settle().ok());
        check();
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  uint64_t lost() const { return lost_; }

 private:
  struct Sent {
    bool acknowledged = false;
    bool stored = false;
  };

  void write_until_cut() {
    std::atomic<uint64_t> acknowledged = 0;
    std::atomic<bool> cut = false;
    std::vector<std::jthread> threads;
    for (uint64_t sender = 1; sender <= kSpanSenders; ++sender) {
      threads.emplace_back([&, sender] {
        std::vector<Sent>& sent = sent_[sender - 1];
        do {
          sent.emplace_back();
          sent.back().acknowledged =
              append_once(rig_.store(), sender_batch(sender, sent.size() - 1)).outcome == AppendOutcome::kDurable;
          acknowledged += sent.back().acknowledged;
        } while (!cut || sent.back().acknowledged);
      });
    }
    wait_for_a_moment(acknowledged);
    rig_.disk().crash();
    cut = true;
  }

  // Some cuts go by what was acknowledged, others by syncs, which are many while a segment is published.
  void wait_for_a_moment(const std::atomic<uint64_t>& acknowledged) {
    bool by_syncs = rig_.options().durability == Durability::kFsync && random_() % 2;
    uint64_t syncs = rig_.disk().file_syncs() + 1 + random_() % 100;
    uint64_t goal = 5 + random_() % 100;
    while (by_syncs ? rig_.disk().file_syncs() < syncs : acknowledged < goal) std::this_thread::yield();
  }

  void check() {
    uint64_t stored = 0;
    for (uint64_t sender = 1; sender <= kSpanSenders; ++sender) {
      std::vector<Sent>& sent = sent_[sender - 1];
      uint64_t of_sender = 0;
      for (uint64_t number = 0; number < sent.size(); ++number) {
        check_batch(sender, number, sent[number]);
        of_sender += sent[number].stored;
      }
      std::optional<StoredTrace> long_trace = stored_trace(rig_.store(), sender);
      EXPECT_EQ(long_trace ? long_trace->spans.size() : 0, of_sender);
      stored += of_sender;
    }
    EXPECT_EQ(counted_spans(rig_.store()), stored * kSpansPerSenderBatch);
    EXPECT_EQ(rig_.store().stats().spans_stored, stored * kSpansPerSenderBatch);
  }

  void check_batch(uint64_t sender, uint64_t number, Sent& sent) {
    std::optional<StoredTrace> trace = stored_trace(rig_.store(), own_trace(sender, number));
    sent.stored = trace.has_value();
    if (!trace) {
      lost_ += sent.acknowledged;
      return;
    }
    EXPECT_EQ(trace->spans.size(), 2u);
    for (const StoredSpan& span : trace->spans) {
      EXPECT_EQ(span.service, service_of(sender));
      EXPECT_EQ(span.operation, operation_of(number));
      EXPECT_FALSE(span.conflicting);
    }
  }

  // As a sender does with what was not acknowledged; and also with what was, because acknowledgements get lost.
  void send_again() {
    for (uint64_t sender = 1; sender <= kSpanSenders; ++sender) {
      std::vector<Sent>& sent = sent_[sender - 1];
      for (uint64_t number = 0; number < sent.size(); ++number) {
        AppendResult again = append_once(rig_.store(), sender_batch(sender, number));
        EXPECT_EQ(again.outcome, AppendOutcome::kDurable) << again.message;
        EXPECT_EQ(again.duplicate, sent[number].stored) << sender << "/" << number;
        sent[number].acknowledged = true;
      }
    }
  }

  RocksRig rig_;
  std::mt19937_64 random_;
  std::vector<Sent> sent_[kSpanSenders];
  uint64_t lost_ = 0;
};

// Cuts of many seeds, a few at a time, because each of them waits: for RocksDB's threads, and after a disk has died
// (fault_env.h).
uint64_t spans_lost_in_cuts(Durability durability, uint64_t last_seed) {
  std::atomic<uint64_t> next = 1, lost = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&] {
      for (uint64_t seed = next++; seed <= last_seed; seed = next++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        PowerCuts cuts(durability, seed);
        cuts.run(3);
        lost += cuts.lost();
      }
    });
  }
  threads.clear();
  return lost;
}

TEST(RocksPowerCut, WhatWasAcknowledgedIsThereOnce) {
  EXPECT_EQ(spans_lost_in_cuts(Durability::kFsync, seeds(9)), 0u);
}

TEST(RocksPowerCut, WithoutSyncsSpansAreLostButNeverTorn) {
  // With fewer seeds, possibly no cut loses anything.
  const uint64_t cuts = std::max<uint64_t>(5, seeds(5));
  EXPECT_GT(spans_lost_in_cuts(Durability::kOs, cuts), 0u) << "a power cut that loses nothing proves nothing";
}

// Closing in good order is no reason for the next cut to take anything.
TEST(RocksPowerCut, ACutAfterARestartTakesNothing) {
  RocksRig rig(small_segments(Durability::kFsync));
  ASSERT_EQ(rig.open(), "");
  for (uint64_t number = 0; number < 40; ++number) {
    ASSERT_EQ(append_once(rig.store(), sender_batch(1, number)).outcome, AppendOutcome::kDurable);
  }
  ASSERT_EQ(rig.reopen(), "");
  ASSERT_EQ(rig.cut_power(), "");
  for (uint64_t number = 0; number < 40; ++number) EXPECT_TRUE(stored_trace(rig.store(), own_trace(1, number)));
  EXPECT_EQ(counted_spans(rig.store()), 40 * kSpansPerSenderBatch);
}

// A disk that fails a sync may have lost what it was told: nothing is acknowledged on it until it is proven again.
TEST(RocksPowerCut, NothingIsAcknowledgedOnAFailedSync) {
  RocksRig rig(small_segments(Durability::kFsync));
  ASSERT_EQ(rig.open(), "");
  ASSERT_EQ(append_once(rig.store(), sender_batch(1, 0)).outcome, AppendOutcome::kDurable);
  rig.disk().fail_syncs(true);
  EXPECT_EQ(append_once(rig.store(), sender_batch(1, 1)).outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(append_once(rig.store(), sender_batch(1, 2)).outcome, AppendOutcome::kRetryable);
  rig.disk().fail_syncs(false);
  std::vector<bool> acknowledged;
  for (uint64_t number = 3; number < 50; ++number) {
    acknowledged.push_back(append_once(rig.store(), sender_batch(1, number)).outcome == AppendOutcome::kDurable);
  }
  ASSERT_EQ(rig.cut_power(), "");
  EXPECT_TRUE(stored_trace(rig.store(), own_trace(1, 0)));
  for (uint64_t number = 3; number < 50; ++number) {
    if (acknowledged[number - 3]) {
      EXPECT_TRUE(stored_trace(rig.store(), own_trace(1, number))) << number;
    }
  }
  EXPECT_EQ(append_once(rig.store(), sender_batch(1, 1)).outcome, AppendOutcome::kDurable);
  EXPECT_TRUE(stored_trace(rig.store(), own_trace(1, 1)));
}

// The process is killed after a failed sync, and the power fails at some change of the next start. That start read the
// rejected batches from the page cache. Each of them is then stored or not, and sending them again stores each once.
TEST(RocksPowerCut, APowerCutDuringAStartKeepsAllOrNothingOfAnUnsyncedBatch) {
  constexpr uint64_t kFirst = 40, kLast = 120;  // while RocksDB writes the log to files
  for (uint64_t changes = kFirst; changes < kLast; changes += repetition_stride()) {
    SCOPED_TRACE(changes);
    RocksRig rig(small_segments(Durability::kFsync));
    ASSERT_EQ(rig.open(), "");
    ASSERT_EQ(append_once(rig.store(), sender_batch(1, 0)).outcome, AppendOutcome::kDurable);
    rig.disk().fail_syncs(true);
    ASSERT_EQ(append_once(rig.store(), sender_batch(1, 1)).outcome, AppendOutcome::kRetryable);
    rig.disk().crash();
    rig.close();
    rig.disk().restart_after_kill();
    rig.disk().fail_syncs(false);
    rig.disk().crash_after(changes);
    (void)rig.open();
    ASSERT_EQ(rig.cut_power(), "");
    for (const uint64_t number : {0, 1}) {
      ASSERT_EQ(append_once(rig.store(), sender_batch(1, number)).outcome, AppendOutcome::kDurable);
      EXPECT_TRUE(stored_trace(rig.store(), own_trace(1, number)));
    }
    EXPECT_EQ(counted_spans(rig.store()), 2 * kSpansPerSenderBatch);
  }
}

// A batch that is in the log but was never synced must not be acknowledged as a duplicate after a restart.
TEST(RocksPowerCut, ADuplicateOfAnUnsyncedBatchIsDurable) {
  for (const bool is_killed : {false, true}) {
    RocksRig rig(small_segments(Durability::kFsync));
    ASSERT_EQ(rig.open(), "");
    rig.disk().fail_syncs(true);
    EXPECT_EQ(append_once(rig.store(), sender_batch(1, 0)).outcome, AppendOutcome::kRetryable);
    if (is_killed) rig.disk().crash();
    rig.close();
    if (is_killed) rig.disk().restart_after_kill();
    rig.disk().fail_syncs(false);
    ASSERT_EQ(rig.open(), "");
    ASSERT_EQ(append_once(rig.store(), sender_batch(1, 0)).outcome, AppendOutcome::kDurable);
    ASSERT_EQ(rig.cut_power(), "");
    EXPECT_TRUE(stored_trace(rig.store(), own_trace(1, 0))) << is_killed;
  }
}

}  // namespace
}  // namespace fathom::store::testing
