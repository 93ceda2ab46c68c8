// Captures on a disk: damage, leftovers, retention, a full disk, uploads that nobody finishes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/sha256.h"
#include "store/rocks/database.h"
#include "store/testing/capture_builder.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

class RocksCaptures : public ::testing::Test {
 protected:
  void open() { ASSERT_EQ(rig_.open(), ""); }
  CaptureStore& store() { return rig_.store().captures(); }
  void send_all(uint64_t first, uint64_t last, size_t size = 5'000) {
    for (uint64_t number = first; number <= last; ++number) {
      AppendResult answer = send(store(), test_capture(number), test_content(number, size));
      ASSERT_EQ(answer.outcome, AppendOutcome::kDurable) << answer.message;
    }
  }
  void check(uint64_t number, size_t size = 5'000) {
    EXPECT_EQ(read_all(store(), test_capture_id(number)), test_content(number, size)) << number;
  }
  bool is_damaged(uint64_t number) {
    Result<StoredCapture> stored = store().info(test_capture_id(number));
    EXPECT_TRUE(stored.ok());
    return stored.ok() && stored->damaged;
  }
  fs::path file_of(uint64_t number, size_t size = 5'000) {
    std::string name = sha256(test_content(number, size)).hex();
    return fs::path(rig_.path()) / "captures" / name.substr(0, 1) / name;
  }
  // Files below captures/, those on their way included.
  size_t files() {
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(rig_.path() + "/captures")) {
      // The test's disk keeps what is removed until its directory is synced.
      count += entry.is_regular_file() && entry.path().parent_path().extension() != ".kept";
    }
    return count;
  }

  RocksRig rig_;
};

uint64_t dropped_captures(const std::string& reason) {
  return metric("fathom_dropped_captures_total{reason=\"" + reason + "\"}");
}
uint64_t refused_captures(const std::string& reason) {
  return metric("fathom_captures_refused_total{reason=\"" + reason + "\"}");
}

// A header has names and losses of any length up to its limits: a list of many is not paid by a flat price.
TEST_F(RocksCaptures, ARowIsSpentByItsSize) {
  open();
  CaptureInfo info = test_capture(1);
  info.node_name = std::string(2'000, 'n');
  info.losses.assign(64, {std::string(250, 'l'), 1});
  ASSERT_EQ(send(store(), info, test_content(1, 100)).outcome, AppendOutcome::kDurable);
  const uint64_t bytes = 2'000 + 64 * 250;
  for (uint64_t limit : {bytes, uint64_t{UINT64_MAX}}) {
    QueryBudget of_trace(UINT64_MAX, limit), find(UINT64_MAX, limit);
    EXPECT_EQ(store().of_trace(info.trace_id, of_trace).ok(), limit != bytes);
    EXPECT_EQ(store().find({}, 10, std::nullopt, find).ok(), limit != bytes);
    EXPECT_GT(of_trace.spent_bytes(), bytes);
    EXPECT_GT(find.spent_bytes(), bytes);
  }
}

TEST_F(RocksCaptures, AreThereAfterRestarts) {
  open();
  send_all(1, 5);
  CaptureStats before = store().stats();
  EXPECT_EQ(before.captures, 5u);
  for (int restarts = 0; restarts < 2; ++restarts) {
    ASSERT_EQ(rig_.reopen(), "");
    EXPECT_EQ(store().stats(), before);
    for (uint64_t number = 1; number <= 5; ++number) check(number);
    EXPECT_TRUE(send(store(), test_capture(1), test_content(1, 5'000)).duplicate);
  }
  ASSERT_TRUE(rig_.store().settle().ok());
  ASSERT_EQ(rig_.cut_power(), "");
  for (uint64_t number = 1; number <= 5; ++number) check(number);
  EXPECT_EQ(files(), 5u);
}

TEST_F(RocksCaptures, LieUnderTheirHash) {
  open();
  send_all(1, 1);
  EXPECT_EQ(fs::file_size(file_of(1)), 5'000u);
  // The same content is one file.
  ASSERT_EQ(send(store(), test_capture(2), test_content(1, 5'000)).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(files(), 1u);
}

TEST_F(RocksCaptures, WhatNobodyRefersToGoesAtAStart) {
  open();
  send_all(1, 2);
  rig_.close();
  fs::create_directories(file_of(77).parent_path());
  std::ofstream(file_of(77)) << "without a row";
  std::ofstream(rig_.path() + "/captures/incoming/123") << "half";
  std::ofstream(rig_.path() + "/captures/0/README") << "somebody's own";
  uint64_t before = metric("fathom_capture_orphans_total");
  open();
  EXPECT_EQ(metric("fathom_capture_orphans_total"), before + 1);
  EXPECT_FALSE(fs::exists(file_of(77)));
  EXPECT_FALSE(fs::exists(rig_.path() + "/captures/incoming/123"));
  EXPECT_TRUE(fs::exists(rig_.path() + "/captures/0/README"));
  check(1);
  check(2);
}

TEST_F(RocksCaptures, DamageIsReportedAndCanBeMended) {
  open();
  send_all(1, 4);
  rig_.close();
  fs::remove(file_of(1));
  fs::resize_file(file_of(2), 4'999);
  open();
  EXPECT_EQ(store().stats().damaged, 2u);
  EXPECT_EQ(metric("fathom_captures_damaged"), 2u);
  EXPECT_EQ(store().stats().captures, 4u);
  EXPECT_TRUE(is_damaged(1));
  EXPECT_TRUE(is_damaged(2));
  EXPECT_FALSE(is_damaged(3));
  EXPECT_EQ(read_all(store(), test_capture_id(1)), "(error) corrupt");
  EXPECT_EQ(read_all(store(), test_capture_id(2)), "(error) corrupt");
  // Found out while it is open.
  fs::remove(file_of(3));
  EXPECT_EQ(read_all(store(), test_capture_id(3)), "(error) corrupt");
  EXPECT_TRUE(is_damaged(3));
  // Also by whoever says the hash beforehand.
  for (uint64_t number = 1; number <= 3; ++number) {
    CaptureInfo info = test_capture(number);
    info.sha256 = sha256(test_content(number, 5'000));
    AppendResult answer = send(store(), info, test_content(number, 5'000));
    EXPECT_EQ(answer.outcome, AppendOutcome::kDurable);
    check(number);
    EXPECT_FALSE(is_damaged(number));
  }
  EXPECT_EQ(store().stats().damaged, 0u);
  ASSERT_EQ(rig_.cut_power(), "");
  for (uint64_t number = 1; number <= 4; ++number) check(number);
}

// What of a header no longer decodes is a lost capture, and neither its file nor its other rows stay.
TEST_F(RocksCaptures, ARowThatDoesNotDecodeIsCounted) {
  open();
  send_all(1, 3);
  rig_.close();
  {
    Result<std::unique_ptr<Database>> database = Database::open(rig_.options(), std::make_shared<LivePartitions>());
    ASSERT_TRUE(database.ok());
    std::string key(4, '\0');
    key.append(test_capture_id(2).view());
    ASSERT_TRUE((*database)
                    ->db()
                    .Put(rocksdb::WriteOptions(), (*database)->family(Family::kCapture), key, "\x01nonsense")
                    .ok());
  }
  uint64_t before = metric("fathom_lost_index_values_total{index=\"capture\"}");
  open();
  EXPECT_EQ(metric("fathom_lost_index_values_total{index=\"capture\"}"), before + 1);
  EXPECT_EQ(store().stats().captures, 2u);
  EXPECT_EQ(store().info(test_capture_id(2)).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(file_of(2)));
  QueryBudget budget;
  EXPECT_EQ(store().find({}, 10, std::nullopt, budget)->rows.size(), 2u);
  EXPECT_EQ(metric("fathom_lost_index_values_total{index=\"capture\"}"), before + 1);
  send_all(2, 2);
  check(2);
}

TEST_F(RocksCaptures, ASmallerBudgetHoldsAtTheNextStart) {
  open();
  for (uint64_t number = 1; number <= 600; ++number) {
    rig_.advance(1);
    send_all(number, number, 10);
  }
  uint64_t before = dropped_captures("size");
  rig_.options().capture_bytes = 10 * 8192;
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(store().stats().captures, 10u);
  EXPECT_EQ(store().stats().bytes, 10u * 8192);
  EXPECT_EQ(dropped_captures("size"), before + 590);
  EXPECT_EQ(metric("fathom_captures"), 10u);
  EXPECT_EQ(metric("fathom_capture_bytes"), 10u * 8192);
  EXPECT_TRUE(eventually([&] { return files() == 10; }));
  for (uint64_t number = 591; number <= 600; ++number) check(number, 10);
}

TEST_F(RocksCaptures, AgeTakesThemAway) {
  rig_.options().retention_age_nano = 1'000'000;
  rig_.options().maintenance_interval_nano = 1'000'000;
  open();
  uint64_t before = dropped_captures("age");
  send_all(1, 3);
  rig_.advance(500'000);
  send_all(4, 4);
  rig_.advance(500'001);
  EXPECT_TRUE(eventually([&] { return store().stats().captures == 1; }));
  EXPECT_EQ(dropped_captures("age"), before + 3);
  EXPECT_TRUE(eventually([&] { return files() == 1; }));
  check(4);
}

TEST_F(RocksCaptures, AnUploadThatNothingComesOfEnds) {
  rig_.options().capture_idle_nano = 1;
  rig_.options().maintenance_interval_nano = 1'000'000;
  open();
  uint64_t before = metric("fathom_captures_abandoned_total{reason=\"idle\"}");
  Result<std::unique_ptr<CaptureWriter>> writer = store().begin(test_capture(1));
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE(eventually([&] { return store().stats().writers == 0; }));
  EXPECT_EQ((*writer)->append(0, "late").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ((*writer)->finish().outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(metric("fathom_captures_abandoned_total{reason=\"idle\"}"), before + 1);
  EXPECT_EQ(files(), 0u);
}

TEST_F(RocksCaptures, OnlySoManyUploadsAtOnce) {
  rig_.options().capture_writers = 2;
  open();
  uint64_t before = refused_captures("writers");
  Result<std::unique_ptr<CaptureWriter>> a = store().begin(test_capture(1)), b = store().begin(test_capture(2));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(store().begin(test_capture(3)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused_captures("writers"), before + 1);
  EXPECT_EQ(files(), 2u);
  b->reset();
  EXPECT_EQ(files(), 1u);
  EXPECT_TRUE(store().begin(test_capture(3)).ok());
}

TEST_F(RocksCaptures, AWriterMayOutliveTheStore) {
  open();
  Result<std::unique_ptr<CaptureWriter>> writer = store().begin(test_capture(1));
  ASSERT_TRUE((*writer)->append(0, "abc").ok());
  rig_.close();
  EXPECT_EQ((*writer)->append(3, "def").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ((*writer)->finish().outcome, AppendOutcome::kRetryable);
  writer->reset();
  open();
  EXPECT_EQ(files(), 0u);
}

TEST_F(RocksCaptures, AreRefusedBeforeSpansWhenTheDiskIsNearlyFull) {
  constexpr uint64_t kReserve = 1 << 20;
  rig_.options().reserve_disk_bytes = kReserve;
  open();
  send_all(1, 1);
  auto append = [&](uint64_t trace) {
    return append_once(rig_.store(), make_batch({test_span(trace, 1, 0, 10)})).outcome;
  };
  uint64_t before = refused_captures("disk_nearly_full");
  Result<std::unique_ptr<CaptureWriter>> under_way = store().begin(test_capture(2));
  rig_.disk().set_free_bytes(2 * kReserve - 1);
  Result<> taken = (*under_way)->append(0, "abc");
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(taken.error().message.find("disk is nearly full"), std::string::npos);
  EXPECT_EQ((*under_way)->finish().outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(store().begin(test_capture(3)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused_captures("disk_nearly_full"), before + 2);
  EXPECT_EQ(append(1), AppendOutcome::kDurable);
  EXPECT_TRUE(rig_.store().stats().writable);
  check(1);
  rig_.disk().release_space();
  send_all(2, 3);
}

TEST_F(RocksCaptures, AFullDiskLeavesNothingBehind) {
  open();
  send_all(1, 1);
  auto all_refused = [] { return refused_captures("write_failed") + refused_captures("disk_nearly_full"); };
  uint64_t before = all_refused();
  rig_.disk().set_free_bytes(3'000);
  AppendResult answer = send(store(), test_capture(2), test_content(2, 5'000), 1'000);
  EXPECT_EQ(answer.outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(all_refused(), before + 1);
  EXPECT_EQ(files(), 1u);
  check(1);
  rig_.disk().release_space();
  EXPECT_TRUE(eventually(
      [&] { return send(store(), test_capture(2), test_content(2, 5'000)).outcome == AppendOutcome::kDurable; }));
  check(2);
}

// A disk that fails a sync may have lost what it was told.
TEST_F(RocksCaptures, NothingIsDurableOnAFailedSync) {
  open();
  send_all(1, 1);
  rig_.disk().fail_syncs(true);
  EXPECT_EQ(send(store(), test_capture(2), test_content(2, 5'000)).outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(files(), 1u);
  rig_.disk().fail_syncs(false);
  EXPECT_TRUE(eventually(
      [&] { return send(store(), test_capture(2), test_content(2, 5'000)).outcome == AppendOutcome::kDurable; }));
  ASSERT_EQ(rig_.cut_power(), "");
  check(1);
  check(2);
}

TEST_F(RocksCaptures, ReadsThatFailAreNotDamage) {
  open();
  send_all(1, 1);
  rig_.disk().fail_reads(true);
  EXPECT_EQ(store().read(test_capture_id(1), 0, 10).error().code, ErrorCode::kUnavailable);
  rig_.disk().fail_reads(false);
  EXPECT_FALSE(is_damaged(1));
  check(1);
}

// Readers, writers and retention at once: what is read is whole, or gone, or not there yet.
TEST_F(RocksCaptures, ManyAtOnce) {
  constexpr uint64_t kSenders = 3, kEach = 60;
  rig_.options().capture_bytes = 20 * 12'288;
  open();
  std::atomic<uint64_t> sent = 0;
  std::vector<std::jthread> threads;
  for (uint64_t sender = 0; sender < kSenders; ++sender) {
    threads.emplace_back([&, sender] {
      for (uint64_t i = 0; i < kEach; ++i) {
        uint64_t number = i % 2 ? 1000 + i : sender * 100 + i;  // some are everybody's
        rig_.advance(1);
        EXPECT_EQ(send(store(), test_capture(number), test_content(number, 5'000), 1'500).outcome,
                  AppendOutcome::kDurable);
        ++sent;
      }
    });
  }
  do {
    QueryBudget budget;
    Result<CapturePage> page = store().find({}, 50, std::nullopt, budget);
    ASSERT_TRUE(page.ok());
    for (const StoredCapture& row : page->rows) {
      Result<std::string> content = store().read(row.info.id, 0, 10'000);
      if (content.ok()) {
        EXPECT_EQ(sha256(*content), row.info.sha256);
      } else {
        EXPECT_EQ(content.error().code, ErrorCode::kNotFound) << content.error().message;
      }
    }
    EXPECT_LE(store().stats().bytes, 20u * 12'288);
  } while (sent < kSenders * kEach);
  threads.clear();
  EXPECT_EQ(store().stats().captures, 20u);
  EXPECT_EQ(store().stats().damaged, 0u);
  EXPECT_TRUE(eventually([&] { return files() == 20; }));
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(store().stats().damaged, 0u);
  EXPECT_EQ(files(), 20u);
}

}  // namespace
}  // namespace fathom::store::testing
