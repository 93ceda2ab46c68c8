// The catalogue of operations over the store's life: limits are for what is stored, and names go with their spans, from
// memory and from the disk, through restarts and power cuts; no span ever loses its name or gets another's.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/time.h"
#include "store/rocks/database.h"
#include "store/rocks/keys.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

RocksOptions small_limits() {
  RocksOptions options;
  options.operations_per_service = 2;
  options.services = 3;
  options.segment_spans = 8;
  options.partition_nano = 10 * kNanosPerSecond;
  options.maintenance_interval_nano = 1'000'000;
  return options;
}

class RocksOperations : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(rig_.open(), ""); }

  bool store(uint64_t trace, const std::string& service, const std::string& name) {
    BatchPtr batch = make_batch({test_span(trace, 1, 0, 10).of_service(service).named(name)});
    return append_once(rig_.store(), batch).outcome == AppendOutcome::kDurable;
  }
  std::string operation_of(uint64_t trace) {
    std::optional<StoredTrace> stored = stored_trace(rig_.store(), trace);
    return stored ? std::string(stored->spans.at(0).service) + "/" + std::string(stored->spans.at(0).operation) : "";
  }
  void drop_everything() {
    rig_.advance(100 * kNanosPerSecond);
    ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano()).ok());
    ASSERT_EQ(rig_.store().stats().spans_stored, 0u);
  }
  // The catalogue's rows, by number, of the store that is closed.
  std::map<uint32_t, std::string> rows() {
    std::map<uint32_t, std::string> found;
    Result<std::unique_ptr<Database>> opened = Database::open(rig_.options(), std::make_shared<LivePartitions>());
    EXPECT_TRUE(opened.ok());
    if (!opened) return found;
    std::unique_ptr<rocksdb::Iterator> row((*opened)->db().NewIterator({}, (*opened)->family(Family::kOperation)));
    for (row->SeekToFirst(); row->Valid(); row->Next()) {
      found[keys::last_be32(row->key().ToStringView())] = row->value().ToString();
    }
    return found;
  }

  RocksRig rig_{small_limits()};
};

TEST_F(RocksOperations, LimitsAreForWhatIsStored) {
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(store(i, "a", "old-" + std::to_string(i)));
  EXPECT_EQ(operation_of(3), "a/__other__");
  for (bool restarted : {false, true}) {
    SCOPED_TRACE(restarted);
    drop_everything();
    if (restarted) {
      ASSERT_EQ(rig_.reopen(), "");
    }
    std::string generation = restarted ? "x-" : "y-";
    for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(store(10 + i, "a", generation + std::to_string(i)));
    EXPECT_EQ(operation_of(11), "a/" + generation + "1");
    EXPECT_EQ(operation_of(12), "a/" + generation + "2");
    EXPECT_EQ(operation_of(13), "a/__other__");
    for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(store(20 + i, std::string(1, 'b' + static_cast<char>(i)), generation));
    EXPECT_EQ(operation_of(21), "c/" + generation);
    EXPECT_EQ(operation_of(22), "__other__/__other__");
  }
}

TEST_F(RocksOperations, RowsGoWithTheirSpans) {
  ASSERT_TRUE(store(1, "a", "first"));
  rig_.advance(20 * kNanosPerSecond);
  ASSERT_TRUE(store(2, "a", "second"));
  uint64_t cut = rig_.now_unix_nano();
  ASSERT_TRUE(rig_.store().drop_before(cut).ok());
  EXPECT_EQ(operation_of(2), "a/second");
  rig_.close();
  std::map<uint32_t, std::string> left = rows();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_NE(left.begin()->second.find("second"), std::string::npos);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(operation_of(2), "a/second");
  drop_everything();
  rig_.close();
  EXPECT_TRUE(rows().empty());
  // Numbers go on where they were, so that no number ever means two names.
  ASSERT_EQ(rig_.open(), "");
  ASSERT_TRUE(store(3, "a", "third"));
  rig_.close();
  left = rows();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left.begin()->first, 2u);
}

// What is asked for a service is found through the service's number, which outlives the operation it came from.
TEST_F(RocksOperations, AServiceIsFoundWithoutItsFirstOperation) {
  ASSERT_TRUE(store(1, "a", "first"));
  rig_.advance(20 * kNanosPerSecond);
  ASSERT_TRUE(store(2, "a", "second"));
  ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano()).ok());
  for (bool restarted : {false, true}) {
    SCOPED_TRACE(restarted);
    if (restarted) {
      ASSERT_EQ(rig_.reopen(), "");
    }
    ASSERT_TRUE(rig_.store().settle().ok());
    Filter filter;
    filter.service = "a";
    QueryBudget budget;
    Result<SlowPage> page = rig_.store().slowest(filter, By::kTrace, 10, std::nullopt, budget);
    ASSERT_TRUE(page.ok()) << page.error().message;
    ASSERT_EQ(page->rows.size(), 1u);
    EXPECT_EQ(page->rows[0].operation, "second");
  }
}

TEST_F(RocksOperations, OverTheBytesNamesBecomeOtherAndAreCounted) {
  rig_.options().catalogue_bytes = 4096;
  rig_.options().operations_per_service = 1000;
  ASSERT_EQ(rig_.reopen(), "");
  const std::string series = "fathom_limited_total{limit=\"catalogue_bytes\"}";
  uint64_t before = metric(series);
  for (uint64_t i = 1; i <= 6; ++i) ASSERT_TRUE(store(i, "a", std::string(1000, 'a' + static_cast<char>(i))));
  EXPECT_EQ(operation_of(3), "a/" + std::string(1000, 'd'));
  EXPECT_EQ(operation_of(6), "a/__other__");
  EXPECT_EQ(metric(series) - before, 3u);
}

// Names come and go with their partitions, the power goes too; whatever is stored has its own name, or "__other__".
void names_through_power_cuts(uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  RocksOptions options = small_limits();
  options.operations_per_service = 5;
  RocksRig rig(options);
  ASSERT_EQ(rig.open(), "");
  std::map<uint64_t, std::string> names;  // acknowledged, by trace
  uint64_t next = 1;
  auto check = [&] {
    for (const auto& [trace, name] : names) {
      std::optional<StoredTrace> stored = stored_trace(rig.store(), trace);
      if (!stored) continue;  // retention took it
      const StoredSpan& span = stored->spans.at(0);
      ASSERT_EQ(span.service, "a");
      ASSERT_TRUE(span.operation == name || span.operation == kOtherOperation) << span.operation << ", not " << name;
      ASSERT_EQ(span.span.name, name);
    }
    QueryBudget budget;
    Result<std::vector<OperationStats>> stats = rig.store().operations({}, std::nullopt, budget);
    ASSERT_TRUE(stats.ok());
    for (const OperationStats& one : *stats) {
      ASSERT_EQ(one.key.service, "a");
      Filter filter;
      filter.service = "a";
      filter.operation = one.key.operation;
      Result<std::vector<SlowRow>> found = rig.store().find(filter, By::kSpan, 1000, budget);
      ASSERT_TRUE(found.ok()) << found.error().message;
      ASSERT_EQ(found->size(), one.spans) << one.key.operation;
    }
  };
  for (int step = 0; step < 120; ++step) {
    std::string name = "operation-" + std::to_string(random() % 12);
    uint64_t trace = next++;
    BatchPtr batch = make_batch({test_span(trace, 1, 0, 10).of_service("a").named(name)});
    if (append_once(rig.store(), batch).outcome == AppendOutcome::kDurable) names[trace] = name;
    rig.advance(random() % (4 * kNanosPerSecond));
    if (random() % 8 == 0) {
      ASSERT_TRUE(rig.store().drop_before(rig.now_unix_nano() - random() % (40 * kNanosPerSecond)).ok());
    }
    if (random() % 12 == 0) {
      ASSERT_EQ(rig.cut_power(random()), "");
    }
    if (random() % 10 == 0) check();
    if (::testing::Test::HasFatalFailure()) return;
  }
  check();
}

TEST(RocksOperationsPowerCut, NamesStayWithTheirSpans) {
  for (uint64_t seed = 1; seed <= seeds(4); ++seed) {
    names_through_power_cuts(seed);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace fathom::store::testing
