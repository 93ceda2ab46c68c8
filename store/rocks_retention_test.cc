// Retention with reads and writes going on: old partitions go, whole, counted and from the disk; nobody notices but
// who asks for what is gone.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/time.h"
#include "store/testing/contract_harness.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kSpansPerBulkBatch = 10;
constexpr size_t kRowsOfPage = 100;  // some partitions lie between two pages

std::string dropped_spans_series(const std::string& reason) {
  return "fathom_dropped_spans_total{reason=\"" + reason + "\"}";
}

// Text that compresses little, so that spans and not indexes are what the disk is full of.
std::string bulk(std::mt19937_64& random) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += std::to_string(random());
  return text;
}

// A trace of its own, and one span in a trace that grows over all partitions.
BatchPtr bulk_batch(uint64_t number) {
  std::mt19937_64 random(number);
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i < kSpansPerBulkBatch; ++i) {
    spans.push_back(test_span(number + 10, i, static_cast<int64_t>(i), 1000 + number).with({"bulk", bulk(random)}));
  }
  spans.push_back(test_span(1, number, static_cast<int64_t>(number), 5));
  return make_batch(spans);
}

RocksOptions small_partitions() {
  RocksOptions options;
  options.durability = Durability::kOs;
  options.segment_spans = 100;
  options.partition_nano = 10 * kNanosPerSecond;
  options.maintenance_interval_nano = 1'000'000;
  return options;
}

class RocksRetention : public ::testing::Test {
 protected:
  void write(uint64_t batches) {
    for (uint64_t i = 0; i < batches; ++i) {
      // On a slow machine, sealing may be behind; a sender tries again.
      AppendResult result = append_and_wait(rig_.store(), bulk_batch(++written_));
      ASSERT_EQ(result.outcome, AppendOutcome::kDurable) << result.message;
      rig_.advance(kNanosPerSecond / 10);
    }
  }

  // Writes with a reader beside and a restart in the middle; then what is stored and what was dropped add up.
  void run_under_load(const std::string& reason, const std::function<bool()>& limit_holds) {
    uint64_t dropped_before = metric(dropped_spans_series(reason)), stored_before = metric("fathom_spans_stored_total");
    for (int run = 0; run < 2; ++run) {
      ASSERT_EQ(rig_.reopen(), "");
      uint64_t rounds = rounds_ + 1;
      std::atomic<bool> stop = false;
      std::jthread reader([&] { read_until(stop); });
      write(400);
      EXPECT_TRUE(eventually([&] { return rounds_ >= rounds; }));
      stop = true;
    }
    ASSERT_TRUE(rig_.store().settle().ok());
    EXPECT_TRUE(eventually(limit_holds));
    auto gone = [&] { return metric(dropped_spans_series(reason)) - dropped_before; };
    EXPECT_GT(gone(), 0u);
    EXPECT_EQ(metric("fathom_spans_stored_total") - stored_before, written_ * kSpansPerBulkBatch);
    // A drop may be under way, which counts and takes away one after the other.
    EXPECT_TRUE(
        eventually([&] { return rig_.store().stats().spans_stored + gone() == written_ * kSpansPerBulkBatch; }));
  }

  // Asks everything, over and over; any answer but success and "not found" is a fault.
  void read_until(const std::atomic<bool>& stop) {
    while (!stop) {
      QueryBudget budget;
      note(rig_.store().trace(test_trace_id(1), budget));
      note(rig_.store().trace(test_trace_id(10 + written_ / 2), budget));
      note(rig_.store().find({}, By::kSpan, 20, budget));
      note(rig_.store().operations({}, std::nullopt, budget));
      note(rig_.store().attribute_keys({}, budget));
      note(rig_.store().attribute_values({}, "bulk", "", 5, budget));
      note(rig_.store().latency({}, std::nullopt, std::nullopt, 60 * kNanosPerSecond, budget));
      read_pages(By::kTrace);
      read_pages(By::kSpan);
      ++rounds_;
    }
  }
  // Partitions vanish between the pages; what is there comes once and in order.
  void read_pages(By by) {
    std::optional<Cursor> cursor;
    std::optional<SortKey> last;
    do {
      QueryBudget budget;
      Result<SlowPage> page = rig_.store().slowest({}, by, kRowsOfPage, cursor, budget);
      note(page);
      if (!page.ok()) return;
      for (const SlowRow& row : page->rows) {
        SortKey key{row.duration_nano, row.start_unix_nano, row.trace_id, by == By::kSpan ? row.span_id : SpanId{}};
        // The long trace shrinks with its partitions, and so may come up again further down.
        if (by == By::kTrace && row.trace_id == test_trace_id(1)) continue;
        EXPECT_TRUE(!last || slower(*last, key));
        last = key;
      }
      cursor = page->next;
    } while (cursor);
  }
  // Only a trace can be "not found"; every other question has an answer, however much was dropped.
  template <typename T>
  void note(const Result<T>& result) {
    if (result.ok()) return;
    bool of_a_trace = std::is_same_v<T, StoredTrace>;
    EXPECT_TRUE(of_a_trace && result.error().code == ErrorCode::kNotFound)
        << __PRETTY_FUNCTION__ << ": " << result.error().message;
  }

  RocksRig rig_{small_partitions()};
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> rounds_{0};
};

TEST_F(RocksRetention, ByAge) {
  rig_.options().retention_age_nano = 20 * kNanosPerSecond;
  // 30 s of spans at the most: the limit and the partition that is half beyond it.
  run_under_load("age", [&] { return rig_.store().stats().spans_stored <= 310 * kSpansPerBulkBatch; });
  EXPECT_TRUE(stored_trace(rig_.store(), 10 + written_));
  EXPECT_TRUE(stored_trace(rig_.store(), 10 + written_ - 190));
  EXPECT_FALSE(stored_trace(rig_.store(), 10 + 1));
  // Nothing arrives any more, and all of it becomes too old.
  uint64_t full = rig_.store().stats().disk_bytes;
  rig_.advance(100 * kNanosPerSecond);
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().spans_stored == 0; }));
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().disk_bytes < full - full / 3; }))
      << rig_.store().stats().disk_bytes << " of " << full;
  // Fresh spans, numbered again from the beginning, are not taken for the old ones.
  written_ = 5000;
  write(3);
  ASSERT_TRUE(rig_.store().settle().ok());
  EXPECT_TRUE(stored_trace(rig_.store(), 10 + 5001));
  EXPECT_EQ(counted_spans(rig_.store()), 3 * kSpansPerBulkBatch);
}

TEST_F(RocksRetention, BySize) {
  rig_.options().partition_bytes = 40'000;
  rig_.options().retention_bytes = 600'000;
  run_under_load("size", [&] { return rig_.store().stats().disk_bytes <= 600'000; });
  EXPECT_GT(rig_.store().stats().spans_stored, 0u);
  EXPECT_TRUE(stored_trace(rig_.store(), 10 + written_));
  EXPECT_FALSE(stored_trace(rig_.store(), 10 + 1));
  EXPECT_EQ(counted_spans(rig_.store()), rig_.store().stats().spans_stored);
}

// Rows that are durable but not sealed take room too; and of what was dropped nothing is left in files or logs, also
// when nothing is written any more that would have them compacted.
TEST_F(RocksRetention, TheDiskIsMeasuredWithItsLogsAndGivenBack) {
  rig_.options().segment_spans = 10'000;
  ASSERT_EQ(rig_.open(), "");
  uint64_t encoded = 0;
  for (uint64_t i = 0; i < 50; ++i) encoded += bulk_batch(i + 1)->encoded().size();
  write(50);
  EXPECT_EQ(rig_.store().stats().segments, 0u);
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().disk_bytes > encoded; }))
      << rig_.store().stats().disk_bytes << " for " << encoded;
  rig_.options().segment_spans = 100;
  ASSERT_EQ(rig_.reopen(), "");
  write(400);
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().disk_bytes > 3 * encoded; }));
  rig_.advance(100 * kNanosPerSecond);
  ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano()).ok());
  ASSERT_EQ(rig_.store().stats().spans_stored, 0u);
  // Identities stay for an hour.
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().disk_bytes < encoded / 2; }))
      << rig_.store().stats().disk_bytes << " for " << 9 * encoded;
}

// Senders that wait for no answer keep the queue full, whatever retention takes from the committer's time.
class RocksRetentionUnderPressure : public RocksRetention {
 protected:
  void drop_while_the_queue_is_full(const std::string& reason) {
    rig_.options().queue_bytes = 3 * bulk_batch(1)->encoded().size();
    ASSERT_EQ(rig_.open(), "");
    uint64_t dropped_before = metric(dropped_spans_series(reason)), full_before = metric(kQueueFull);
    {
      std::atomic<bool> stop = false;
      std::jthread one([&] { send_until(stop); }), other([&] { send_until(stop); });
      // In the middle of it: dropping goes on while batches are taken and while they are refused.
      EXPECT_TRUE(eventually([&] {
        return metric(dropped_spans_series(reason)) - dropped_before >= 2000 &&
               metric(kQueueFull) - full_before >= 1000;
      })) << metric(dropped_spans_series(reason)) - dropped_before
          << " dropped, " << metric(kQueueFull) - full_before << " refused";
      stop = true;
    }
    EXPECT_TRUE(eventually([&] { return answered_ == asked_; }));
    ASSERT_TRUE(rig_.store().settle().ok());
    EXPECT_TRUE(eventually([&] {
      uint64_t gone = metric(dropped_spans_series(reason)) - dropped_before;
      return rig_.store().stats().spans_stored + gone == written_ * kSpansPerBulkBatch;
    }));
    EXPECT_EQ(counted_spans(rig_.store()), rig_.store().stats().spans_stored);
  }

  // Sends a batch again until the store takes it, as senders do.
  void send_until(const std::atomic<bool>& stop) {
    while (!stop) {
      BatchPtr batch = bulk_batch(++sent_);
      while (!stop && !takes(batch)) {
        // A full queue answers on the sender's thread, which then leaves the processor to the committer.
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    }
  }
  // Whether the batch waits for its commit; a full queue refuses it before append() returns.
  bool takes(const BatchPtr& batch) {
    auto refused = std::make_shared<std::atomic<bool>>(false);
    ++asked_;
    rig_.store().append(batch, [this, refused](const AppendResult& result) {
      *refused = result.outcome != AppendOutcome::kDurable;
      if (!*refused) {
        ++written_;
        rig_.advance(kNanosPerSecond / 10);
      }
      ++answered_;
    });
    return !*refused;
  }

  // Less than the reserve is free: writes are refused, and what is below it serves sealing and dropping.
  void refuse_below_reserve() {
    rig_.options().reserve_disk_bytes = UINT64_MAX;
    rig_.disk().set_free_bytes(64 << 20);
  }
  void expect_refused() {
    EXPECT_TRUE(eventually([&] { return !rig_.store().stats().writable; }));
    EXPECT_EQ(append_once(rig_.store(), bulk_batch(100'000)).outcome, AppendOutcome::kRetryable);
  }

  static constexpr const char* kQueueFull = "fathom_store_refused_total{reason=\"queue_full\"}";
  std::atomic<uint64_t> sent_{0};      // batches
  std::atomic<uint64_t> asked_{0};     // times that one was sent
  std::atomic<uint64_t> answered_{0};  // of these
};

TEST_F(RocksRetentionUnderPressure, ByAgeWhileTheQueueIsFull) {
  rig_.options().retention_age_nano = 20 * kNanosPerSecond;
  drop_while_the_queue_is_full("age");
}

TEST_F(RocksRetentionUnderPressure, BySizeWhileTheQueueIsFull) {
  rig_.options().partition_bytes = 40'000;
  rig_.options().retention_bytes = 200'000;
  drop_while_the_queue_is_full("size");
}

// Room comes from dropping, so that must not wait for writes: not even for what is still unsealed.
TEST_F(RocksRetentionUnderPressure, ByAgeWhileWritesAreRefused) {
  rig_.options().retention_age_nano = 20 * kNanosPerSecond;
  ASSERT_EQ(rig_.open(), "");
  write(155);
  rig_.close();
  refuse_below_reserve();
  ASSERT_EQ(rig_.open(), "");
  expect_refused();
  EXPECT_GT(rig_.store().stats().spans_unsealed, 0u);
  uint64_t before = metric(dropped_spans_series("age")), stored = rig_.store().stats().spans_stored;
  rig_.advance(100 * kNanosPerSecond);
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().spans_stored == 0; }));
  EXPECT_GE(metric(dropped_spans_series("age")) - before, stored);
  expect_refused();
  // What needs room before it gives room back waits for it.
  uint64_t left = rig_.store().stats().disk_bytes;
  rig_.disk().release_space();
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().disk_bytes < left / 4; }))
      << rig_.store().stats().disk_bytes << " of " << left;
}

TEST_F(RocksRetentionUnderPressure, BySizeWhileWritesAreRefused) {
  rig_.options().partition_bytes = 40'000;
  ASSERT_EQ(rig_.open(), "");
  write(600);
  ASSERT_TRUE(rig_.store().settle().ok());
  uint64_t full = rig_.store().stats().disk_bytes, before = metric(dropped_spans_series("size"));
  rig_.close();
  refuse_below_reserve();
  rig_.options().retention_bytes = 200'000;
  ASSERT_EQ(rig_.open(), "");
  expect_refused();
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().disk_bytes < full / 2; }))
      << rig_.store().stats().disk_bytes << " of " << full;
  // Both numbers change while partitions are dropped, and they are not read at the same instant.
  EXPECT_TRUE(eventually([&] {
    uint64_t gone = metric(dropped_spans_series("size")) - before;
    return rig_.store().stats().spans_stored + gone == written_ * kSpansPerBulkBatch;
  }));
  EXPECT_TRUE(stored_trace(rig_.store(), 10 + written_));
  expect_refused();
}

// An age below a partition's length must not take what arrived a moment ago with what is old.
TEST_F(RocksRetention, ABatchThatArrivesMeanwhileStays) {
  rig_.options().partition_nano = 3600 * kNanosPerSecond;
  ASSERT_EQ(rig_.open(), "");
  for (int round = 0; round < 30; ++round) {
    write(2);
    uint64_t cut = rig_.now_unix_nano();
    rig_.advance(kNanosPerSecond);
    uint64_t fresh = written_ + 1;
    std::jthread dropping([&] { EXPECT_TRUE(rig_.store().drop_before(cut).ok()); });
    write(1);
    dropping.join();
    ASSERT_TRUE(stored_trace(rig_.store(), 10 + fresh)) << round;
  }
}

}  // namespace
}  // namespace fathom::store::testing
