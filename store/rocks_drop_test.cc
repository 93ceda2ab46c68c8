// Retention without sealing: partitions are dropped while sealing is impossible, and answers show the spans of a trace
// that are left in memory.
#include <gtest/gtest.h>

#include <random>

#include "base/time.h"
#include "store/model/memory_store.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

// Enough for retention, and too little for a flush of what is in memory.
constexpr uint64_t kRoomForADrop = 600 << 10;

std::string text_of(const SlowRow& row) {
  return std::to_string(number_of(row.trace_id)) + " at " + std::to_string(row.start_unix_nano - kTestNow) + " for " +
         std::to_string(row.duration_nano) + (row.complete ? "" : " incomplete") + " of " + std::to_string(row.spans);
}

std::vector<std::string> texts_of(const Result<SlowPage>& page) {
  std::vector<std::string> texts;
  if (!page) return {page.error().message};
  for (const SlowRow& row : page->rows) texts.push_back(text_of(row));
  return texts;
}

class RocksDrop : public ::testing::Test {
 protected:
  // Sealing only when a test settles; partitions of an hour, as the model has them.
  void start() {
    rig_.options().segment_spans = 100'000;
    rig_.options().maintenance_interval_nano = 1'000'000;
    ASSERT_EQ(rig_.open(), "");
  }
  void append(const std::vector<TestSpan>& spans) {
    const BatchPtr batch = make_batch(spans);
    ASSERT_EQ(append_once(model_, batch).outcome, AppendOutcome::kDurable);
    ASSERT_EQ(append_once(rig_.store(), batch).outcome, AppendOutcome::kDurable);
  }
  void settle() { ASSERT_TRUE(rig_.store().settle().ok()); }
  void next_hour() { rig_.advance(kNanosPerHour); }
  void drop_older_than(uint64_t age_nano) {
    const uint64_t before = rig_.now_unix_nano() - age_nano;
    ASSERT_TRUE(model_.drop_before(before).ok());
    Result<> dropped = rig_.store().drop_before(before);
    ASSERT_TRUE(dropped.ok()) << dropped.error().message;
  }

  // Nothing can be written or sealed, as on a disk that another program filled; retention has the reserve's last bytes.
  void fill_disk() {
    rig_.options().reserve_disk_bytes = UINT64_MAX;
    rig_.disk().set_free_bytes(kRoomForADrop);
    rig_.store().set_limits(rig_.options());
    ASSERT_TRUE(eventually([&] { return !rig_.store().stats().writable; }));
    rig_.disk().refuse_tables(true);
  }
  void empty_disk() {
    rig_.options().reserve_disk_bytes = 0;
    rig_.disk().release_space();
    rig_.disk().refuse_tables(false);
    rig_.store().set_limits(rig_.options());
  }
  void keep_bytes(uint64_t bytes) {
    rig_.options().retention_bytes = bytes;
    rig_.store().set_limits(rig_.options());
  }

  // The model is the definition of right.
  void expect_as_model(const Filter& filter) {
    for (const By by : {By::kTrace, By::kSpan}) {
      QueryBudget budget, model_budget;
      EXPECT_EQ(texts_of(rig_.store().slowest(filter, by, 500, std::nullopt, budget)),
                texts_of(model_.slowest(filter, by, 500, std::nullopt, model_budget)));
    }
  }
  void expect_as_model() {
    expect_as_model({});
    for (uint64_t hour = 0; hour < 6; ++hour) {
      Filter started;
      started.range = {kTestNow + hour * kNanosPerHour, kTestNow + (hour + 1) * kNanosPerHour};
      expect_as_model(started);
      Filter lasted;
      lasted.max_duration_nano = hour * kNanosPerHour;
      expect_as_model(lasted);
    }
    Filter old;
    old.operation = "first";
    expect_as_model(old);
  }
  void expect_as_model_now_and_later() {
    expect_as_model();
    ASSERT_EQ(rig_.reopen(), "");
    expect_as_model();
    settle();
    expect_as_model();
  }

  RocksRig rig_;
  MemoryStore model_{{.operations_per_service = 1000, .now_unix_nano = [this] { return rig_.now_unix_nano(); }}};
};

TestSpan at_hour(uint64_t trace, uint64_t span, uint64_t hour) {
  return test_span(trace, span, static_cast<int64_t>(hour * kNanosPerHour + span), 1000 + span);
}

TEST_F(RocksDrop, ATraceThatStaysInMemoryLosesItsSealedBeginning) {
  start();
  append({at_hour(1, 1, 0).named("first"), at_hour(2, 2, 0)});
  settle();
  next_hour();
  append({at_hour(1, 3, 1), at_hour(3, 4, 1)});
  drop_older_than(kNanosPerHour / 2);
  EXPECT_GT(rig_.store().stats().spans_unsealed, 0u) << "the drop must not seal";
  expect_as_model_now_and_later();
}

// Three parts: one is dropped, one is sealed and corrected, one is in memory.
TEST_F(RocksDrop, ATraceThatIsCorrectedAndStaysInMemoryIsAnsweredAsOne) {
  start();
  for (uint64_t hour = 0; hour < 3; ++hour) {
    append({at_hour(1, 10 + hour, hour).named("first"), at_hour(2 + hour, 20 + hour, hour)});
    if (hour < 2) settle();
    next_hour();
  }
  drop_older_than(2 * kNanosPerHour + kNanosPerHour / 2);
  EXPECT_GT(rig_.store().stats().spans_unsealed, 0u);
  expect_as_model();
  append({at_hour(1, 40, 3), at_hour(5, 41, 3)});
  expect_as_model_now_and_later();
}

// A partition that nothing of is sealed goes from memory, and its rows in the stage are not read again.
TEST_F(RocksDrop, AnUnsealedPartitionIsDroppedWithoutBeingSealed) {
  start();
  append({at_hour(1, 1, 0).named("first")});
  next_hour();
  // Before the rows of the next hour arrive, with which sealing begins: a flush that fails stops RocksDB.
  rig_.disk().refuse_tables(true);
  append({at_hour(1, 2, 1), at_hour(2, 3, 1)});
  drop_older_than(kNanosPerHour / 2);
  EXPECT_EQ(rig_.store().stats().segments, 0u);
  rig_.disk().refuse_tables(false);
  expect_as_model_now_and_later();
}

TEST_F(RocksDrop, EverythingIsDroppedFromMemoryAlone) {
  start();
  append({at_hour(1, 1, 0)});
  next_hour();
  drop_older_than(0);
  EXPECT_EQ(rig_.store().stats().spans_stored, 0u);
  append({at_hour(1, 2, 1)});
  expect_as_model_now_and_later();
}

// The disk is full, so that sealing fails. What is old goes nevertheless.
TEST_F(RocksDrop, OldPartitionsAreDroppedWhileSealingFails) {
  start();
  for (uint64_t trace = 1; trace <= 50; ++trace) append({at_hour(trace, trace, 0).named("first")});
  settle();
  next_hour();
  for (uint64_t trace = 1; trace <= 20; ++trace) append({at_hour(trace, 100 + trace, 1)});
  next_hour();
  append({at_hour(60, 60, 2)});
  const uint64_t before = metric("fathom_dropped_spans_total{reason=\"age\"}");
  fill_disk();
  ASSERT_FALSE(rig_.store().settle().ok());
  drop_older_than(kNanosPerHour + kNanosPerHour / 2);
  EXPECT_EQ(metric("fathom_dropped_spans_total{reason=\"age\"}") - before, 50u);
  EXPECT_GT(rig_.store().stats().spans_unsealed, 0u) << "the drop must not seal";
  expect_as_model();
  empty_disk();
  expect_as_model_now_and_later();
}

// By size: the partition that takes rows goes, too, when its segments alone exceed a limit that was lowered. Its rows
// in memory stay, and their operations keep their names.
TEST_F(RocksDrop, TheNewestPartitionGoesWhenItAloneExceedsALoweredLimit) {
  start();
  append({at_hour(1, 1, 0).named("first"), at_hour(2, 2, 0)});
  settle();
  append({at_hour(1, 3, 0).named("stays"), at_hour(3, 4, 0)});
  fill_disk();
  keep_bytes(1000);
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().segments == 0; }));
  EXPECT_EQ(rig_.store().stats().spans_stored, 2u);
  EXPECT_TRUE(eventually([&] { return stored_trace(rig_.store(), 1)->spans.size() == 1; }));
  EXPECT_FALSE(stored_trace(rig_.store(), 2));
  QueryBudget budget;
  EXPECT_EQ(texts_of(rig_.store().slowest({}, By::kTrace, 10, std::nullopt, budget)),
            (std::vector<std::string>{"3 at 4 for 1004 of 1", "1 at 3 for 1003 of 1"}));
  keep_bytes(0);
  empty_disk();
  ASSERT_EQ(rig_.reopen(), "");
  settle();
  EXPECT_EQ(stored_trace(rig_.store(), 1)->spans[0].operation, "stays");
  EXPECT_EQ(counted_spans(rig_.store()), 2u);
}

// Nothing is sealed, nothing can be, and the log alone exceeds the limit.
TEST_F(RocksDrop, UnsealedSpansBeyondALoweredLimitGoOnAFullDisk) {
  start();
  std::string bulk(10'000, 'x');
  for (uint64_t trace = 1; trace <= 200; ++trace) append({at_hour(trace, trace, 0).with({"bulk", bulk})});
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().disk_bytes > 1'000'000; }));
  fill_disk();
  keep_bytes(100'000);
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().spans_stored == 0; }));
  empty_disk();
  EXPECT_TRUE(eventually([&] { return rig_.store().stats().disk_bytes < 200'000; }));
  EXPECT_TRUE(eventually(
      [&] { return append_once(rig_.store(), make_batch({at_hour(1000, 1, 0)})).outcome == AppendOutcome::kDurable; }));
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(rig_.store().stats().spans_stored, 1u);
}

// Spans arrive while partitions are dropped: of each trace what is answered is what is left of it.
TEST_F(RocksDrop, SpansThatArriveMeanwhileAreAnsweredAsTheModelDoes) {
  start();
  std::mt19937_64 random(1);
  uint64_t span = 1;
  for (uint64_t hour = 0; hour < 12; ++hour) {
    for (int batch = 0; batch < 6; ++batch) {
      std::vector<TestSpan> spans;
      for (int i = 0; i < 5; ++i) spans.push_back(at_hour(1 + random() % 12, ++span, hour));
      append(spans);
    }
    if (random() % 2 == 0) settle();
    if (hour >= 3) drop_older_than((random() % 3) * kNanosPerHour + kNanosPerHour / 2);
    expect_as_model();
    next_hour();
  }
  expect_as_model_now_and_later();
}

// The start that reads the record of a drop may lose power, and the log with the record was never synced.
TEST(RocksDropPowerCut, AStartDeletesFilesAfterTheRecordOfTheirDropIsDurable) {
  for (uint64_t changes = 10; changes < 118; changes += 3) {
    RocksRig rig;
    ASSERT_EQ(rig.open(), "");
    ASSERT_EQ(append_once(rig.store(), make_batch({test_span(1, 1, 0, 10)})).outcome, AppendOutcome::kDurable);
    ASSERT_TRUE(rig.store().settle().ok());
    rig.advance(2 * kNanosPerHour);
    rig.disk().fail_syncs(true);
    EXPECT_FALSE(rig.store().drop_before(rig.now_unix_nano() - kNanosPerHour).ok());
    rig.disk().crash();
    rig.close();
    rig.disk().restart_after_kill();
    rig.disk().fail_syncs(false);
    rig.disk().crash_after(changes);
    [[maybe_unused]] const std::string fault = rig.open();
    ASSERT_EQ(rig.cut_power(), "") << changes;
    stored_trace(rig.store(), 1);  // stored or not, but no error
    EXPECT_EQ(counted_spans(rig.store()), rig.store().stats().spans_stored) << changes;
  }
}

}  // namespace
}  // namespace fathom::store::testing
