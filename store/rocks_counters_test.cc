// Every loss and refusal of the store has a counter, and each of them counts.
#include <gtest/gtest.h>

#include <future>

#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

std::string refused(const std::string& reason) {
  return "fathom_store_refused_total{reason=\"" + reason + "\"}";
}
std::string limited(const std::string& limit) {
  return "fathom_limited_total{limit=\"" + limit + "\"}";
}

// What a series grew by since this was made.
class Growth {
 public:
  explicit Growth(std::string series) : series_(std::move(series)), before_(metric(series_)) {}
  uint64_t value() const { return metric(series_) - before_; }

 private:
  std::string series_;
  uint64_t before_;
};

BatchPtr one_span(uint64_t trace) {
  return make_batch({test_span(trace, 1, 0, 10)});
}

TEST(RocksCounters, StoredAndDuplicate) {
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  Growth stored("fathom_spans_stored_total"), duplicates("fathom_duplicate_batches_total");
  BatchPtr batch = make_batch({test_span(1, 1, 0, 10), test_span(1, 2, 0, 5)});
  EXPECT_FALSE(append_once(rig.store(), batch).duplicate);
  EXPECT_EQ(stored.value(), 2u);
  EXPECT_EQ(duplicates.value(), 0u);
  EXPECT_TRUE(append_once(rig.store(), batch).duplicate);
  EXPECT_EQ(stored.value(), 2u);
  EXPECT_EQ(duplicates.value(), 1u);
}

TEST(RocksCounters, AFullQueueRefuses) {
  RocksOptions options;
  options.queue_bytes = 1;
  RocksRig rig(options);
  ASSERT_EQ(rig.open(), "");
  Growth growth(refused("queue_full"));
  EXPECT_EQ(append_once(rig.store(), one_span(1)).outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(growth.value(), 1u);
}

TEST(RocksCounters, AFailedWriteRefuses) {
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  Growth growth(refused("write_failed"));
  rig.disk().fail_writes(true);
  EXPECT_EQ(append_once(rig.store(), one_span(1)).outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(growth.value(), 1u);
}

TEST(RocksCounters, ADiskBelowItsReserveRefuses) {
  RocksOptions options;
  options.reserve_disk_bytes = UINT64_MAX;
  RocksRig rig(options);
  ASSERT_EQ(rig.open(), "");
  ASSERT_EQ(append_once(rig.store(), one_span(1)).outcome, AppendOutcome::kDurable);
  rig.disk().set_free_bytes(1 << 20);
  EXPECT_TRUE(eventually([&] { return !rig.store().stats().writable; }));
  EXPECT_EQ(metric("fathom_store_writable"), 0u);
  Growth growth(refused("not_writable"));
  EXPECT_EQ(append_once(rig.store(), one_span(2)).outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(growth.value(), 1u);
  rig.disk().release_space();
  EXPECT_TRUE(eventually([&] { return append_once(rig.store(), one_span(2)).outcome == AppendOutcome::kDurable; }));
}

// The disk takes nothing, so sealing cannot go on; writing is not even tried while memory holds all it may.
TEST(RocksCounters, SealingThatIsBehindRefuses) {
  RocksOptions options;
  options.sealing_limit = 0;
  RocksRig rig(options);
  ASSERT_EQ(rig.open(), "");
  ASSERT_EQ(append_once(rig.store(), one_span(1)).outcome, AppendOutcome::kDurable);
  Growth growth(refused("sealing_behind")), failures("fathom_seal_failures_total");
  rig.disk().fail_writes(true);
  EXPECT_FALSE(rig.store().settle().ok());
  EXPECT_GE(failures.value(), 1u);
  EXPECT_EQ(append_once(rig.store(), one_span(2)).outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(growth.value(), 1u);
  rig.disk().fail_writes(false);
  EXPECT_TRUE(eventually([&] { return append_once(rig.store(), one_span(2)).outcome == AppendOutcome::kDurable; }));
}

TEST(RocksCounters, LimitsOfTheCatalogue) {
  RocksOptions options;
  options.operations_per_service = 2;
  options.services = 2;
  RocksRig rig(options);
  ASSERT_EQ(rig.open(), "");
  Growth operations(limited("operations_per_service")), services(limited("services"));
  for (uint64_t i = 1; i <= 3; ++i) {
    BatchPtr batch = make_batch({test_span(i, 1, 0, 10).named("operation-" + std::to_string(i)).of_service("a")});
    ASSERT_EQ(append_once(rig.store(), batch).outcome, AppendOutcome::kDurable);
  }
  EXPECT_EQ(operations.value(), 1u);
  for (const char* service : {"b", "c"}) {
    ASSERT_EQ(append_once(rig.store(), make_batch({test_span(4, 1, 0, 10).of_service(service)})).outcome,
              AppendOutcome::kDurable);
  }
  EXPECT_EQ(services.value(), 1u);
  // Limited is not lost.
  EXPECT_EQ(counted_spans(rig.store()), 5u);
}

TEST(RocksCounters, LimitsOfABatch) {
  BatchLimits limits;
  limits.attributes_per_span = 2;
  limits.bytes_per_value = 10;
  limits.bytes_per_name = 20;
  limits.events_per_span = 1;
  limits.links_per_span = 1;
  Growth attributes(limited("attributes_per_span")), values(limited("bytes_per_value")),
      names(limited("bytes_per_name")), events(limited("events_per_span")), links(limited("links_per_span"));
  TestSpan span = test_span(1, 1, 0, 10).named(std::string(21, 'n'));
  span.with({"a", std::string(11, 'v')}).with({"b", 1}).with({"c", 1}).with({"d", 1});
  span.events = {{kTestNow, "first", {}, 0}, {kTestNow, "second", {}, 0}};
  span.links = {{test_trace_id(2), test_span_id(1), "", {}, 0, 0}, {test_trace_id(3), test_span_id(1), "", {}, 0, 0}};
  make_batch({span}, std::nullopt, limits);
  EXPECT_EQ(attributes.value(), 2u);
  EXPECT_EQ(values.value(), 1u);
  EXPECT_EQ(names.value(), 1u);
  EXPECT_EQ(events.value(), 1u);
  EXPECT_EQ(links.value(), 1u);
}

}  // namespace
}  // namespace fathom::store::testing
