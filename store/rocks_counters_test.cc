// Every loss and refusal of the store has a counter, and each of them counts.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "base/time.h"
#include "store/rocks/database.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

std::string refused_series(const std::string& reason) {
  return "fathom_store_refused_total{reason=\"" + reason + "\"}";
}
std::string limited_series(const std::string& limit) {
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
  Growth growth(refused_series("queue_full"));
  AppendOutcome outcome = AppendOutcome::kDurable;
  rig.store().append(one_span(1), [&](const AppendResult& result) { outcome = result.outcome; });
  EXPECT_EQ(outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(growth.value(), 1u);
}

TEST(RocksCounters, HowLongSendersWaitIsOfWhatBecameDurable) {
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  Growth appended("fathom_store_append_duration_seconds_count"), written("fathom_store_write_duration_seconds_count");
  ASSERT_EQ(append_once(rig.store(), one_span(1)).outcome, AppendOutcome::kDurable);
  ASSERT_EQ(append_once(rig.store(), one_span(2)).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(appended.value(), 2u);
  EXPECT_EQ(written.value(), 2u);
  rig.disk().fail_writes(true);
  EXPECT_EQ(append_once(rig.store(), one_span(3)).outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(appended.value(), 2u);
  EXPECT_EQ(written.value(), 2u);
}

TEST(RocksCounters, AFailedWriteRefuses) {
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  Growth growth(refused_series("write_failed"));
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
  Growth growth(refused_series("not_writable"));
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
  Growth growth(refused_series("sealing_behind")), failures("fathom_seal_failures_total");
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
  Growth operations(limited_series("operations_per_service")), services(limited_series("services"));
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
  // Spans are counted, not names, and only when they are stored.
  BatchPtr more = make_batch({test_span(6, 1, 0, 10).named("operation-4").of_service("a"),
                              test_span(6, 2, 0, 10).named("operation-4").of_service("a"),
                              test_span(6, 3, 0, 10).named("operation-5").of_service("a"),
                              test_span(6, 4, 0, 10).named("operation-1").of_service("a")});
  ASSERT_EQ(append_once(rig.store(), more).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(operations.value(), 4u);
  EXPECT_TRUE(append_once(rig.store(), more).duplicate);
  EXPECT_EQ(operations.value(), 4u);
  // Limited is not lost.
  EXPECT_EQ(counted_spans(rig.store()), 9u);
}

TEST(RocksCounters, LimitsMayBeSetAnew) {
  RocksOptions options;
  options.operations_per_service = 1;
  options.listed_attribute_keys = 1;
  RocksRig rig(options);
  ASSERT_EQ(rig.open(), "");
  const auto stores = [&](uint64_t trace, const std::string& operation) {
    BatchPtr batch =
        make_batch({test_span(trace, 1, 0, 10).named(operation).of_service("s").with({"a", 1}).with({"b", 1})});
    return append_once(rig.store(), batch).outcome == AppendOutcome::kDurable && rig.store().settle().ok();
  };
  Growth operations(limited_series("operations_per_service")), unlisted(limited_series("listed_attribute_keys"));
  ASSERT_TRUE(stores(1, "first") && stores(2, "second"));
  EXPECT_EQ(operations.value(), 1u);
  EXPECT_EQ(unlisted.value(), 4u);  // two of a, b and service.name, twice
  options.operations_per_service = 2;
  options.listed_attribute_keys = 3;
  rig.store().set_limits(options);
  ASSERT_TRUE(stores(3, "second") && stores(4, "third"));
  EXPECT_EQ(operations.value(), 2u);
  EXPECT_EQ(unlisted.value(), 4u);
}

TEST(RocksCounters, AttributeKeysBeyondTheLimitAreKeptAndNotListed) {
  RocksOptions options;
  options.listed_attribute_keys = 2;
  RocksRig rig(options);
  ASSERT_EQ(rig.open(), "");
  Growth unlisted(limited_series("listed_attribute_keys"));
  std::vector<TestSpan> spans;
  for (int i = 1; i <= 30; ++i) {
    uint64_t number = static_cast<uint64_t>(i);
    spans.push_back(test_span(number, 1, 0, number).with({"a", i}).with({"b", i}).with({"c", i}));
  }
  ASSERT_EQ(append_once(rig.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
  ASSERT_TRUE(rig.store().settle().ok());
  EXPECT_EQ(unlisted.value(), 2u);  // of a, b, c and service.name
  QueryBudget budget;
  Result<std::vector<std::string>> keys = rig.store().attribute_keys({}, budget);
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(keys->size(), 2u);
  for (const char* key : {"a", "b", "c"}) {
    Filter filter;
    filter.where = {{key, "7"}};
    Result<SlowPage> page = rig.store().slowest(filter, By::kTrace, 10, std::nullopt, budget);
    ASSERT_TRUE(page.ok());
    ASSERT_EQ(page->rows.size(), 1u) << key;
    EXPECT_EQ(page->rows[0].trace_id, test_trace_id(7));
    Result<std::vector<ValueCount>> values = rig.store().attribute_values({}, key, "", 100, budget);
    ASSERT_TRUE(values.ok());
    EXPECT_EQ(values->size(), 30u) << key;
  }
}

// Whether it is stored already cannot be said, so it is neither taken nor acknowledged.
TEST(RocksCounters, ABatchWhoseIdentityCannotBeReadIsRefused) {
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  ASSERT_EQ(append_once(rig.store(), one_span(1)).outcome, AppendOutcome::kDurable);
  ASSERT_TRUE(rig.store().settle().ok());  // to where it must be read from
  Growth growth(refused_series("lookup_failed"));
  rig.disk().fail_reads(true);
  EXPECT_EQ(append_once(rig.store(), one_span(1)).outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(growth.value(), 1u);
  rig.disk().fail_reads(false);
  EXPECT_TRUE(eventually([&] { return append_once(rig.store(), one_span(1)).duplicate; }));
  EXPECT_EQ(counted_spans(rig.store()), 1u);
}

// Every value of a family of a store that is closed, by key.
using Values = std::map<std::string, std::string>;

// Writes what `change` makes of each value; returns the values as they were.
Values rewrite(const RocksOptions& options, Family family,
               const std::function<std::string(const std::string& key)>& change) {
  Values before;
  Result<std::unique_ptr<Database>> opened = Database::open(options, std::make_shared<LivePartitions>());
  EXPECT_TRUE(opened.ok());
  if (!opened) return before;
  Database& database = **opened;
  std::unique_ptr<rocksdb::Iterator> rows(database.db().NewIterator({}, database.family(family)));
  for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
    before[rows->key().ToString()] = rows->value().ToString();
    EXPECT_TRUE(database.db().Put({}, database.family(family), rows->key(), change(rows->key().ToString())).ok());
  }
  EXPECT_FALSE(before.empty());
  return before;
}
std::string damaged(const std::string&) {
  return "damaged";
}

// The older part of a trace cannot be read when its next span comes: that is taken all the same, and looked up again
// when the store starts or seals.
TEST(RocksCounters, ATraceThatCannotBeLookedUpIsLookedUpAgain) {
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  ASSERT_EQ(append_once(rig.store(), one_span(1)).outcome, AppendOutcome::kDurable);
  ASSERT_TRUE(rig.store().settle().ok());
  rig.close();
  Values whole = rewrite(rig.options(), Family::kTrace, damaged);
  ASSERT_EQ(rig.open(), "");
  Growth growth("fathom_trace_lookup_failures_total");
  EXPECT_EQ(append_once(rig.store(), make_batch({test_span(1, 2, 50, 50)})).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(growth.value(), 1u);
  EXPECT_FALSE(rig.store().settle().ok());  // nothing wrong is written for good
  rig.close();
  rewrite(rig.options(), Family::kTrace, [&](const std::string& key) { return whole.at(key); });
  ASSERT_EQ(rig.open(), "");
  for (bool sealed : {false, true}) {
    SCOPED_TRACE(sealed);
    if (sealed) {
      ASSERT_TRUE(rig.store().settle().ok());
    }
    QueryBudget budget;
    Result<SlowPage> page = rig.store().slowest({}, By::kTrace, 10, std::nullopt, budget);
    ASSERT_TRUE(page.ok()) << page.error().message;
    ASSERT_EQ(page->rows.size(), 1u);
    EXPECT_EQ(page->rows[0].duration_nano, 100u);
    EXPECT_EQ(page->rows[0].spans, 2u);
  }
  EXPECT_EQ(growth.value(), 1u);
}

// The store has just been opened, so that a look-up reads the disk. A compaction that runs then stops RocksDB: the
// batch is rejected, and sent again to a store that is opened again.
void append_while_reads_fail(RocksRig& rig, const BatchPtr& batch) {
  EXPECT_TRUE(eventually([&] {
    rig.disk().fail_reads(true);
    const AppendOutcome outcome = append_once(rig.store(), batch).outcome;
    rig.disk().fail_reads(false);
    if (outcome == AppendOutcome::kDurable) return true;
    EXPECT_EQ(rig.reopen(), "");
    return false;
  }));
}

// The disk can be read again before the trace is looked up again.
TEST(RocksCounters, ATraceThatCouldNotBeLookedUpIsAnsweredAsItIs) {
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  ASSERT_EQ(append_once(rig.store(), make_batch({test_span(1, 1, 10, 100), test_span(2, 2, 0, 1000)})).outcome,
            AppendOutcome::kDurable);
  ASSERT_TRUE(rig.store().settle().ok());
  ASSERT_EQ(rig.reopen(), "");
  Growth growth("fathom_trace_lookup_failures_total");
  append_while_reads_fail(rig, make_batch({test_span(1, 3, 0, 5)}));
  EXPECT_EQ(growth.value(), 1u);
  QueryBudget budget;
  Result<SlowPage> page = rig.store().slowest({}, By::kTrace, 10, std::nullopt, budget);
  ASSERT_TRUE(page.ok()) << page.error().message;
  ASSERT_EQ(page->rows.size(), 2u);
  EXPECT_EQ(page->rows[1].start_unix_nano, kTestNow);
  EXPECT_EQ(page->rows[1].duration_nano, 110u);
  EXPECT_EQ(page->rows[1].spans, 2u);
}

// The segment holds only a late row of the trace, and its bounds cover the trace's early start.
TEST(RocksCounters, ATraceThatCouldNotBeLookedUpIsSealedAsItIs) {
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  ASSERT_EQ(append_once(rig.store(), make_batch({test_span(1, 1, 10, 100)})).outcome, AppendOutcome::kDurable);
  ASSERT_TRUE(rig.store().settle().ok());
  ASSERT_EQ(rig.reopen(), "");
  const auto late = static_cast<int64_t>(kNanosPerHour);
  append_while_reads_fail(rig, make_batch({test_span(1, 2, late, 5)}));
  // A compaction may have met the failing reads, too. RocksDB then stops until the store is opened again.
  ASSERT_TRUE(eventually([&] {
    if (rig.store().settle().ok()) return true;
    EXPECT_EQ(rig.reopen(), "");
    return false;
  }));
  Filter early;
  early.range = {kTestNow, kTestNow + kNanosPerMinute};
  QueryBudget budget;
  Result<SlowPage> page = rig.store().slowest(early, By::kTrace, 10, std::nullopt, budget);
  ASSERT_TRUE(page.ok()) << page.error().message;
  ASSERT_EQ(page->rows.size(), 1u);
  EXPECT_EQ(page->rows[0].duration_nano, kNanosPerHour - 5);
}

// Every list of the slowest is lost: each is counted, and the answer comes from the blocks.
TEST(RocksCounters, ListsThatDoNotDecodeCostTimeAndNoAnswer) {
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  for (uint64_t i = 1; i <= 5; ++i) {
    ASSERT_EQ(append_once(rig.store(), one_span(i)).outcome, AppendOutcome::kDurable);
  }
  ASSERT_TRUE(rig.store().settle().ok());
  rig.close();
  rewrite(rig.options(), Family::kSlow, damaged);
  ASSERT_EQ(rig.open(), "");
  Growth growth("fathom_lost_index_values_total{index=\"slow\"}");
  QueryBudget budget;
  Result<SlowPage> page = rig.store().slowest({}, By::kTrace, 10, std::nullopt, budget);
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ(page->rows.size(), 5u);
  EXPECT_EQ(growth.value(), 2u);  // the hour's, and then the minute's
}

TEST(RocksCounters, LimitsOfABatch) {
  BatchLimits limits;
  limits.attributes_per_span = 2;
  limits.bytes_per_value = 10;
  limits.bytes_per_name = 20;
  limits.events_per_span = 1;
  limits.links_per_span = 1;
  Growth attributes(limited_series("attributes_per_span")), values(limited_series("bytes_per_value")),
      names(limited_series("bytes_per_name")), events(limited_series("events_per_span")),
      links(limited_series("links_per_span"));
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
