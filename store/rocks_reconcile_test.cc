// Column families after damage to the log: partial writes are completed or undone, and answers stay right.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/time.h"
#include "store/rocks/database.h"
#include "store/rocks/keys.h"
#include "store/testing/capture_builder.h"
#include "store/testing/damage.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

RocksOptions short_partitions() {
  RocksOptions options;
  options.partition_nano = 10 * kNanosPerSecond;
  return options;
}

class RocksReconcile : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(rig_.open(), ""); }

  void append(const TestSpan& span) {
    ASSERT_EQ(append_once(rig_.store(), make_batch({span})).outcome, AppendOutcome::kDurable);
  }
  // Changes the database behind the closed store.
  void change_database(const std::function<void(Database&)>& change) {
    rig_.close();
    auto database = Database::open(rig_.options(), std::make_shared<LivePartitions>());
    ASSERT_TRUE(database.ok()) << database.error().message;
    change(**database);
  }
  // The store is closed: everything in its logs is lost.
  void destroy_logs() {
    for (const auto& entry : fs::directory_iterator(rig_.path() + "/store")) {
      if (entry.path().extension() != ".log") continue;
      const auto size = fs::file_size(entry.path());
      std::ofstream(entry.path(), std::ios::binary | std::ios::trunc) << std::string(size, '\xff');
    }
  }
  void cut_logs(uint64_t bytes) {
    for (const auto& entry : fs::directory_iterator(rig_.path() + "/store")) {
      if (entry.path().extension() != ".log" || entry.file_size() < bytes) continue;
      fs::resize_file(entry.path(), entry.file_size() - bytes);
    }
  }
  // Where the content of the first capture is kept.
  fs::path content_aside() const { return rig_.path() + "/damaged/captures/" + sha256(test_content(1, 5000)).hex(); }
  std::vector<std::string> operations() {
    QueryBudget budget;
    auto found = rig_.store().operations({}, std::nullopt, budget);
    EXPECT_TRUE(found.ok());
    std::vector<std::string> names;
    for (const OperationStats& stats : *found) {
      names.push_back(stats.key.operation + " " + std::to_string(stats.spans));
    }
    return names;
  }

  RocksRig rig_{short_partitions()};
};

// RocksDB may flush the identities long before the batches themselves.
TEST_F(RocksReconcile, StoresALostBatchAgainThoughItsIdentityWasFlushed) {
  append(test_span(1, 1, 0, 10));
  change_database([](Database& database) { ASSERT_TRUE(database.flush({Family::kIdentity}).ok()); });
  destroy_logs();
  ASSERT_EQ(rig_.open(), "");
  ASSERT_FALSE(stored_trace(rig_.store(), 1));
  const AppendResult again = append_once(rig_.store(), make_batch({test_span(1, 1, 0, 10)}));
  EXPECT_EQ(again.outcome, AppendOutcome::kDurable);
  EXPECT_FALSE(again.duplicate);
  EXPECT_TRUE(stored_trace(rig_.store(), 1));
}

TEST_F(RocksReconcile, KeepsIdentitiesOfSealedBatches) {
  append(test_span(1, 1, 0, 10));
  ASSERT_TRUE(rig_.store().settle().ok());
  append(test_span(2, 1, 0, 10));
  rig_.close();
  destroy_logs();
  ASSERT_EQ(rig_.open(), "");
  EXPECT_TRUE(append_once(rig_.store(), make_batch({test_span(1, 1, 0, 10)})).duplicate);
}

// Sealing alone, without a flush of all families.
TEST_F(RocksReconcile, SealingKeepsIdentities) {
  rig_.options().segment_spans = 1;
  ASSERT_EQ(rig_.reopen(), "");
  append(test_span(1, 1, 0, 10));
  ASSERT_TRUE(eventually([&] { return rig_.store().stats().segments == 1; }));
  rig_.close();
  destroy_logs();
  ASSERT_EQ(rig_.open(), "");
  EXPECT_TRUE(append_once(rig_.store(), make_batch({test_span(1, 1, 0, 10)})).duplicate);
}

// A crash may interrupt the flush of all families after that of the stage.
TEST_F(RocksReconcile, RestoresTheIdentityOfABatchThatWasFlushed) {
  append(test_span(1, 1, 0, 10));
  change_database([](Database& database) { ASSERT_TRUE(database.flush({Family::kStage}).ok()); });
  destroy_logs();
  ASSERT_EQ(rig_.open(), "");
  ASSERT_TRUE(stored_trace(rig_.store(), 1));
  EXPECT_TRUE(append_once(rig_.store(), make_batch({test_span(1, 1, 0, 10)})).duplicate);
}

// Segments refer to operations by number: a number whose row is lost must not be given to another operation.
TEST_F(RocksReconcile, SealedSpansKeepTheirOperations) {
  TestSpan first = test_span(1, 1, 0, 10), second = test_span(2, 1, 0, 10);
  first.name = "sealed";
  second.name = "later";
  rig_.options().segment_spans = 1;
  ASSERT_EQ(rig_.reopen(), "");
  append(first);
  ASSERT_TRUE(eventually([&] { return rig_.store().stats().segments == 1; }));
  rig_.close();
  destroy_logs();
  ASSERT_EQ(rig_.open(), "");
  append(second);
  EXPECT_EQ(operations(), (std::vector<std::string>{"later 1", "sealed 1"}));
}

TEST_F(RocksReconcile, DropsPartitionsAgainWhoseFilesAreGone) {
  append(test_span(1, 1, 0, 10));
  rig_.advance(20 * kNanosPerSecond);
  append(test_span(2, 1, 0, 10));
  ASSERT_TRUE(rig_.store().settle().ok());
  std::string key, record;
  change_database([&](Database& database) {
    std::unique_ptr<rocksdb::Iterator> rows(
        database.db().NewIterator(rocksdb::ReadOptions(), database.family(Family::kSegment)));
    rows->SeekToFirst();
    ASSERT_TRUE(rows->Valid());
    key = rows->key().ToString();
    record = rows->value().ToString();
  });
  ASSERT_EQ(rig_.open(), "");
  ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano()).ok());
  change_database([&](Database& database) {
    // As if the log had lost the record of the drop.
    rocksdb::WriteBatch undo;
    undo.Put(database.family(Family::kSegment), key, record);
    undo.Delete(database.family(Family::kDefault), keys::kOldestPartition);
    ASSERT_TRUE(database.db().Write(rocksdb::WriteOptions(), &undo).ok());
  });
  fs::create_directory(rig_.path() + "/damaged");
  std::ofstream(rig_.path() + "/damaged/000004.log") << "a damaged log";
  ASSERT_EQ(rig_.open(), "");
  EXPECT_FALSE(stored_trace(rig_.store(), 1));
  EXPECT_TRUE(stored_trace(rig_.store(), 2));
  EXPECT_EQ(rig_.store().stats().segments, 1u);
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(rig_.store().stats().segments, 1u);
}

// A file that loses its blocks long after a log was damaged is damage, which reads report.
TEST_F(RocksReconcile, KeepsPartitionsThatLoseBlocksAfterTheLossWasRecorded) {
  append(test_span(1, 1, 0, 10));
  ASSERT_TRUE(rig_.store().settle().ok());
  rig_.close();
  fs::create_directory(rig_.path() + "/damaged");
  std::ofstream(rig_.path() + "/damaged/000004.log") << "a damaged log";
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(rig_.store().stats().segments, 1u);
  change_database([&](Database& database) {
    std::unique_ptr<rocksdb::Iterator> rows(
        database.db().NewIterator(rocksdb::ReadOptions(), database.family(Family::kBlock)));
    rocksdb::WriteBatch lost;
    for (rows->SeekToFirst(); rows->Valid(); rows->Next()) lost.Delete(database.family(Family::kBlock), rows->key());
    ASSERT_TRUE(database.db().Write(rocksdb::WriteOptions(), &lost).ok());
  });
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(rig_.store().stats().segments, 1u) << "the segment is dropped silently";
  QueryBudget budget;
  EXPECT_FALSE(rig_.store().trace(test_trace_id(1), budget).ok());
}

TEST_F(RocksReconcile, CorrectionsOutliveTheLog) {
  append(test_span(1, 1, 0, 10));
  rig_.advance(20 * kNanosPerSecond);
  append(test_span(1, 2, 5, 10));
  ASSERT_TRUE(rig_.store().settle().ok());
  ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano()).ok());
  // Sealing a trace over two partitions flushes the notes.
  rig_.options().segment_spans = 1;
  ASSERT_EQ(rig_.reopen(), "");
  for (uint64_t segments = 2; segments <= 3; ++segments) {
    rig_.advance(20 * kNanosPerSecond);
    append(test_span(2, segments, 5, 10));
    ASSERT_TRUE(eventually([&] { return rig_.store().stats().segments == segments; }));
  }
  rig_.close();
  destroy_logs();
  ASSERT_EQ(rig_.open(), "");
  QueryBudget budget;
  auto page = rig_.store().slowest({}, By::kTrace, 10, std::nullopt, budget);
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->rows.size(), 2u);
  for (const SlowRow& row : page->rows) {
    EXPECT_EQ(row.spans, row.trace_id == test_trace_id(1) ? 1u : 2u);
    EXPECT_EQ(row.duration_nano, 10u);
  }
}

TEST_F(RocksReconcile, KeepsContentsOfLostCapturesAside) {
  const uint64_t lost_before = metric("fathom_lost_captures_total");
  ASSERT_EQ(send(rig_.store().captures(), test_capture(1), test_content(1, 5000)).outcome, AppendOutcome::kDurable);
  rig_.close();
  destroy_logs();
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(metric("fathom_lost_captures_total") - lost_before, 1u);
  EXPECT_EQ(fs::file_size(content_aside()), 5000u);
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(metric("fathom_lost_captures_total") - lost_before, 1u) << "counted once";
}

TEST_F(RocksReconcile, KeepsContentsAsideOnAnotherFileSystem) {
  ASSERT_EQ(send(rig_.store().captures(), test_capture(1), test_content(1, 5000)).outcome, AppendOutcome::kDurable);
  rig_.close();
  destroy_logs();
  rig_.disk().separate_directories(true);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(fs::file_size(content_aside()), 5000u);
}

// A file is in the way of the directory.
TEST_F(RocksReconcile, KeepsContentsThatCannotBeMovedUntilTheyCan) {
  const uint64_t lost_before = metric("fathom_lost_captures_total");
  ASSERT_EQ(send(rig_.store().captures(), test_capture(1), test_content(1, 5000)).outcome, AppendOutcome::kDurable);
  rig_.close();
  destroy_logs();
  fs::create_directories(content_aside().parent_path().parent_path());
  write_file(content_aside().parent_path(), "in the way");
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(metric("fathom_lost_captures_total") - lost_before, 1u);
  ASSERT_EQ(rig_.reopen(), "");
  fs::remove(content_aside().parent_path());
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(fs::file_size(content_aside()), 5000u);
}

// The capture may have been acknowledged: the end of the log may also be missing because the disk lost it.
TEST_F(RocksReconcile, KeepsContentsAsideIfTheLogWasCut) {
  const uint64_t lost_before = metric("fathom_lost_captures_total");
  append(test_span(1, 1, 0, 10));
  ASSERT_EQ(send(rig_.store().captures(), test_capture(1), test_content(1, 5000)).outcome, AppendOutcome::kDurable);
  rig_.close();
  cut_logs(20);
  fs::remove(rig_.path() + "/store/synced-logs");  // nothing shows whether the end was synced
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(fs::file_size(content_aside()), 5000u);
  EXPECT_EQ(metric("fathom_lost_captures_total") - lost_before, 0u) << "it may never have been acknowledged";
}

TEST_F(RocksReconcile, RebuildsTheIndexOfCaptures) {
  ASSERT_EQ(send(rig_.store().captures(), test_capture(1), test_content(1, 5000)).outcome, AppendOutcome::kDurable);
  change_database([](Database& database) { ASSERT_TRUE(database.flush({Family::kCapture}).ok()); });
  destroy_logs();
  ASSERT_EQ(rig_.open(), "");
  QueryBudget budget;
  auto page = rig_.store().captures().find({}, 10, std::nullopt, budget);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->rows.size(), 1u);
  EXPECT_EQ(read_all(rig_.store().captures(), test_capture_id(1)), test_content(1, 5000));
}

}  // namespace
}  // namespace fathom::store::testing
