// A full disk: writes are refused as retryable, queries go on, and with room everything goes on by itself.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/testing/rocks_rig.h"
#include "store/wal/log_mark.h"

namespace fathom::store::testing {
namespace {

const std::string kSealFailures = "fathom_seal_failures_total";

BatchPtr two_span_batch(uint64_t trace) {
  return make_batch({test_span(trace, 1, 0, trace), test_span(trace, 2, 1, 5).parent(1)});
}

class RocksFullDisk : public ::testing::Test {
 protected:
  void start(size_t segment_spans) {
    rig_.options().segment_spans = segment_spans;
    ASSERT_EQ(rig_.open(), "");
  }
  AppendOutcome append(uint64_t trace) { return append_once(rig_.store(), two_span_batch(trace)).outcome; }
  void append_all(uint64_t first, uint64_t last) {
    for (uint64_t trace = first; trace <= last; ++trace) ASSERT_EQ(append(trace), AppendOutcome::kDurable) << trace;
  }
  // Every kind of query that reads what is stored; traces `first` to `last` are all there is.
  void check(uint64_t first, uint64_t last) {
    for (uint64_t trace = first; trace <= last; ++trace) {
      std::optional<StoredTrace> stored = stored_trace(rig_.store(), trace);
      ASSERT_TRUE(stored) << trace;
      EXPECT_EQ(stored->spans.size(), 2u);
    }
    QueryBudget budget;
    Result<SlowPage> page = rig_.store().slowest({}, By::kTrace, 100'000, std::nullopt, budget);
    ASSERT_TRUE(page.ok()) << page.error().message;
    EXPECT_EQ(page->rows.size(), last - first + 1);
    EXPECT_EQ(counted_spans(rig_.store()), 2 * (last - first + 1));
  }
  void check_again_and_reopened(uint64_t first, uint64_t last) {
    check(first, last);
    ASSERT_EQ(rig_.reopen(), "");
    check(first, last);
    ASSERT_TRUE(rig_.store().settle().ok());
    check(first, last);
  }

  // A fault that stopped RocksDB itself ends sealing until the store is opened again, and says so.
  void settle_or_reopen() {
    std::string fault;
    EXPECT_TRUE(eventually([&] {
      Result<> settled = rig_.store().settle();
      fault = settled.ok() ? "" : settled.error().message;
      return settled.ok() || fault.find("opened again") != std::string::npos;
    })) << fault;
    if (fault.empty()) return;
    ASSERT_EQ(rig_.reopen(), "");
    EXPECT_TRUE(rig_.store().settle().ok());
  }

  RocksRig rig_;
};

TEST_F(RocksFullDisk, WritesAreRefusedAndTakenAgain) {
  // Too little to fill the log ahead; batches would find space there.
  rig_.disk().set_free_bytes(kLogFillBytes);
  start(1000);
  append_all(1, 20);
  rig_.disk().set_free_bytes(3000);
  uint64_t next = 21;
  while (append(next) == AppendOutcome::kDurable) ++next;
  EXPECT_GT(next, 21u);
  EXPECT_LT(next, 100u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(append(next), AppendOutcome::kRetryable);
  EXPECT_FALSE(rig_.store().stats().writable);
  check(1, next - 1);
  rig_.disk().release_space();
  EXPECT_TRUE(eventually([&] { return append(next) == AppendOutcome::kDurable; }));
  EXPECT_TRUE(rig_.store().stats().writable);
  append_all(next + 1, next + 20);
  check_again_and_reopened(1, next + 20);
}

TEST_F(RocksFullDisk, AStoreThatIsClosedWhileFullKeepsAllThatWasAcknowledged) {
  start(10);
  append_all(1, 12);
  rig_.disk().set_free_bytes(2000);
  uint64_t next = 13;
  while (append(next) == AppendOutcome::kDurable) ++next;
  rig_.close();
  rig_.disk().release_space();
  ASSERT_EQ(rig_.open(), "");
  // Refused, and yet it may have reached the disk: the sender tries again, and that is all that anybody sees of it.
  EXPECT_EQ(append(next), AppendOutcome::kDurable);
  check_again_and_reopened(1, next);
}

// What is unsealed when the disk becomes nearly full must be sealed in the reserve.
TEST_F(RocksFullDisk, ASmallReserveLimitsSegments) {
  constexpr uint64_t kSegmentLimit = 1 << 20, kBytes = 10'000;
  rig_.options().reserve_disk_bytes = 4 * kSegmentLimit;
  start(100'000);
  const std::string bulk(kBytes, 'x');
  for (uint64_t trace = 1; trace <= kSegmentLimit / kBytes + 1; ++trace) {
    const BatchPtr batch = make_batch({test_span(trace, 1, 0, 10).with({"bulk", bulk})});
    ASSERT_EQ(append_once(rig_.store(), batch).outcome, AppendOutcome::kDurable);
  }
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().segments == 1; }));
}

// From no byte at all to nearly enough, so that sealing fails at each of its steps. Nobody writes meanwhile.
TEST_F(RocksFullDisk, SealingIsRepeatedUntilThereIsRoom) {
  start(1000);
  uint64_t traces = 0;
  for (uint64_t free_bytes : {0, 1500, 4000, 6000, 7000, 8000}) {
    SCOPED_TRACE(free_bytes);
    append_all(traces + 1, traces + 10);
    traces += 10;
    uint64_t failures = metric(kSealFailures);
    rig_.disk().set_free_bytes(free_bytes);
    Result<> settled = rig_.store().settle();
    if (!settled.ok()) {
      EXPECT_EQ(settled.error().code, ErrorCode::kUnavailable) << settled.error().message;
    }
    if (free_bytes == 0) {
      EXPECT_FALSE(settled.ok());
      EXPECT_GT(metric(kSealFailures), failures);
    }
    check(1, traces);
    rig_.disk().release_space();
    settle_or_reopen();
    check(1, traces);
    EXPECT_EQ(rig_.store().stats().spans_unsealed, 0u);
  }
  EXPECT_TRUE(eventually([&] { return append(traces + 1) == AppendOutcome::kDurable; }));
  check_again_and_reopened(1, traces + 1);
}

// The disk fills and empties while several senders write, each of whom tries again as senders do. They write until both
// rounds are over, however slowly this thread runs beside them.
TEST_F(RocksFullDisk, SendersThatTryAgainLoseNothing) {
  constexpr uint64_t kSenders = 3, kBatches = 900;
  start(100'000);
  std::atomic<uint64_t> refused = 0, sent = 0, taken = 0;
  std::atomic<bool> rounds_are_over = false;
  std::vector<std::jthread> senders;
  for (uint64_t sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&] {
      while (!rounds_are_over || sent < kBatches) {
        uint64_t trace = ++taken;
        while (append(trace) != AppendOutcome::kDurable) {
          ++refused;
          std::this_thread::yield();
        }
        ++sent;
      }
    });
  }
  for (uint64_t round = 1; round <= 2; ++round) {
    EXPECT_TRUE(eventually([&] { return sent >= round * 150; }));
    uint64_t before = refused;
    rig_.disk().set_free_bytes(2000 * round);
    EXPECT_TRUE(eventually([&] { return refused > before; }));
    QueryBudget budget;
    EXPECT_TRUE(rig_.store().slowest({}, By::kTrace, 10, std::nullopt, budget).ok());
    rig_.disk().release_space();
  }
  rounds_are_over = true;
  senders.clear();
  check_again_and_reopened(1, taken);
}

}  // namespace
}  // namespace fathom::store::testing
