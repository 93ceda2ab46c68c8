#include "store/rocks/merge_operators.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <random>

#include "base/metrics.h"
#include "base/testing/temp_directory.h"
#include "store/index/latency_cell.h"
#include "store/index/slow_list.h"

namespace fathom::store {
namespace {

template <typename T>
std::string encoded(const T& value) {
  std::string out;
  value.encode(out);
  return out;
}

SlowEntry random_entry(std::mt19937_64& random) {
  SlowEntry entry;
  entry.duration_nano = random() % 1'000'000;
  entry.trace_id.bytes[0] = 1;
  uint64_t number = random();
  std::memcpy(entry.span_id.bytes.data(), &number, 8);
  return entry;
}

SlowList random_list(std::mt19937_64& random) {
  SlowList list;
  for (uint64_t i = random() % 100; i > 0; --i) list.add(random_entry(random));
  return list;
}

LatencyCell random_cell(std::mt19937_64& random) {
  LatencyCell cell;
  for (uint64_t i = random() % 20; i > 0; --i) cell.record(random() % 1'000'000, random() % 2);
  return cell;
}

uint64_t lost(const char* index) {
  return counter("fathom_lost_index_values_total", "", std::string("index=\"") + index + "\"").value();
}

class MergeOperators : public ::testing::Test {
 protected:
  void open(std::shared_ptr<rocksdb::MergeOperator> merge) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.merge_operator = std::move(merge);
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options, temp_ / "db", &db).ok());
    db_.reset(db);
  }
  void merge(const std::string& bytes) { ASSERT_TRUE(db_->Merge({}, "key", bytes).ok()); }
  std::string get() {
    std::string value;
    rocksdb::Status status = db_->Get({}, "key", &value);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return value;
  }
  void compact() {
    ASSERT_TRUE(db_->Flush({}).ok());
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_TRUE(db_->CompactRange(options, nullptr, nullptr).ok());
  }

  TempDirectory temp_;
  std::unique_ptr<rocksdb::DB> db_;
};

// Operands over several files, a snapshot between them (which forces partial merges), reads before and after
// compaction.
template <typename T>
void expect_folded(rocksdb::DB& db, const std::function<T()>& make, const std::function<void()>& compact,
                   const std::function<std::string()>& get) {
  T sum;
  std::vector<const rocksdb::Snapshot*> snapshots;
  for (int i = 0; i < 40; ++i) {
    T operand = make();
    sum.merge(operand);
    ASSERT_TRUE(db.Merge({}, "key", encoded(operand)).ok());
    if (i % 13 == 5) snapshots.push_back(db.GetSnapshot());
    if (i % 7 == 3) {
      ASSERT_TRUE(db.Flush({}).ok());
    }
    ASSERT_EQ(T::decode(get()).value(), sum);
  }
  compact();
  EXPECT_EQ(T::decode(get()).value(), sum);
  for (const rocksdb::Snapshot* snapshot : snapshots) db.ReleaseSnapshot(snapshot);
  compact();
  EXPECT_EQ(get(), encoded(sum));
}

TEST_F(MergeOperators, FoldSlowLists) {
  open(make_slow_list_merge());
  std::mt19937_64 random(1);
  expect_folded<SlowList>(
      *db_, [&] { return random_list(random); }, [&] { compact(); }, [&] { return get(); });
}

TEST_F(MergeOperators, FoldLatencyCells) {
  open(make_latency_cell_merge());
  std::mt19937_64 random(2);
  expect_folded<LatencyCell>(
      *db_, [&] { return random_cell(random); }, [&] { compact(); }, [&] { return get(); });
}

TEST_F(MergeOperators, ALostSlowListRaisesTheFloorAndIsCounted) {
  open(make_slow_list_merge());
  std::mt19937_64 random(3);
  SlowList list = random_list(random);
  uint64_t before = lost("slow");
  merge(encoded(list));
  merge("not a list");
  list.raise_floor(UINT64_MAX);
  EXPECT_EQ(SlowList::decode(get()).value(), list);
  EXPECT_GT(lost("slow"), before);
  compact();
  EXPECT_EQ(SlowList::decode(get()).value(), list);
  EXPECT_EQ(lost("latency"), 0u);
}

TEST_F(MergeOperators, ALostLatencyCellIsCountedAndItsNeighboursStay) {
  open(make_latency_cell_merge());
  LatencyCell cell;
  cell.record(10, true);
  ASSERT_TRUE(db_->Put({}, "key", "not a cell").ok());
  merge(encoded(cell));
  EXPECT_EQ(LatencyCell::decode(get()).value(), cell);
  EXPECT_EQ(lost("latency"), 1u);
  compact();
  EXPECT_EQ(LatencyCell::decode(get()).value(), cell);
}

TEST_F(MergeOperators, ALoneOperandPassesThrough) {
  open(make_slow_list_merge());
  merge("not a list");
  EXPECT_EQ(get(), "not a list");
  EXPECT_FALSE(SlowList::decode(get()).ok());
}

}  // namespace
}  // namespace fathom::store
