// The contract of CaptureStore for skipped captures, on the model and on RocksDB.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/testing/temp_directory.h"
#include "store/model/memory_captures.h"
#include "store/rocks/database.h"
#include "store/testing/capture_builder.h"
#include "store/testing/rocks_rig.h"
#include "store/verify/repair.h"
#include "store/verify/verify.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kBudgetPages = 8'192;
constexpr uint64_t kSkippedBudget = kBudgetPages << 12;
constexpr uint64_t kMostSkipped = most_skipped_captures(kSkippedBudget);
constexpr uint64_t kAtOnce = skipped_captures_at_once(kMostSkipped);
static_assert(kMostSkipped == 128 && kAtOnce == 2);

SkippedCapture skipped_by(uint64_t node, uint64_t trace, uint64_t number = 0) {
  SkippedCapture skipped = test_skipped(trace, number);
  skipped.node_id = test_node_id(node);
  return skipped;
}

class SkippedContract : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    rig_.options().capture_bytes = kSkippedBudget;
    const bool rocks = GetParam() == std::string("Rocks");
    if (rocks) {
      ASSERT_EQ(rig_.open(), "");
    }
    store_ = rocks ? &rig_.store().captures() : &model_;
  }

  CaptureStore& store() { return *store_; }
  std::vector<SkippedCapture> skipped_of(uint64_t trace) {
    QueryBudget budget;
    Result<std::vector<SkippedCapture>> found = store().skipped_of_trace(test_trace_id(trace), budget);
    EXPECT_TRUE(found.ok());
    return found ? *found : std::vector<SkippedCapture>{};
  }

  RocksRig rig_;
  MemoryCaptures model_{{kSkippedBudget, 64 << 20, [this] { return rig_.now_unix_nano(); }}};
  CaptureStore* store_ = nullptr;
};

TEST_P(SkippedContract, AreFoundByTheirTrace) {
  const SkippedCapture first = test_skipped(1, 1), second = test_skipped(1, 2), other = test_skipped(2, 3);
  ASSERT_TRUE(store().put_skipped({second, other}).ok());
  ASSERT_TRUE(store().put_skipped({first}).ok());
  EXPECT_EQ(skipped_of(1), (std::vector{first, second})) << "by their times";
  EXPECT_EQ(skipped_of(2), std::vector{other});
  EXPECT_TRUE(skipped_of(3).empty());
  EXPECT_EQ(store().stats().skipped, 3u);
  EXPECT_EQ(store().stats().bytes, 3u << 12);
}

TEST_P(SkippedContract, AReasonOfLaterIsUnknown) {
  SkippedCapture later = test_skipped(1);
  later.reason = static_cast<SkipReason>(200);
  ASSERT_TRUE(store().put_skipped({later}).ok());
  EXPECT_EQ(skipped_of(1).at(0).reason, SkipReason{});
}

TEST_P(SkippedContract, AreNoCaptures) {
  ASSERT_TRUE(store().put_skipped({test_skipped(1)}).ok());
  QueryBudget budget;
  EXPECT_TRUE(store().of_trace(test_trace_id(1), budget)->empty());
  EXPECT_TRUE(store().traces(budget)->empty());
  EXPECT_TRUE(store().find({}, 10, std::nullopt, budget)->rows.empty());
  EXPECT_EQ(store().stats().captures, 0u);
  // The model counts from 1, RocksDB from the time of reception.
  for (uint64_t number : {uint64_t{1}, kTestNow}) {
    EXPECT_FALSE(store().info(skipped_id(number)).ok());
    EXPECT_EQ(store().read(skipped_id(number), 0, 1).error().code, ErrorCode::kNotFound);
  }
  CaptureInfo forged = test_capture(1);
  forged.id = skipped_id(7);
  EXPECT_EQ(store().begin(forged).error().code, ErrorCode::kInvalid);
}

TEST_P(SkippedContract, OnlyQueriesOfTheirTraceReadThem) {
  ASSERT_TRUE(store().put_skipped({test_skipped(1)}).ok());
  CaptureFilter of_service, of_process;
  of_service.service = test_skipped(1).service;
  of_process.process = CaptureProcess{test_skipped(1).node_id, test_skipped(1).pid};
  QueryBudget budget;
  for (const CaptureFilter& filter : {CaptureFilter(), of_service, of_process}) {
    EXPECT_TRUE(store().find(filter, 10, std::nullopt, budget)->rows.empty());
  }
  EXPECT_EQ(budget.spent_bytes(), 0u);
}

// A node may send very many reports of one trace.
TEST_P(SkippedContract, QueriesOfCapturesDoNotPayForThem) {
  constexpr uint64_t kTrace = 2;
  ASSERT_EQ(send(store(), test_capture(1), "").outcome, AppendOutcome::kDurable);
  CaptureFilter of_trace;
  of_trace.trace_id = test_trace_id(kTrace);
  const auto spent_bytes = [&] {
    QueryBudget budget;
    EXPECT_EQ(store().of_trace(test_trace_id(kTrace), budget)->size(), 1u);
    EXPECT_EQ(store().find(of_trace, 10, std::nullopt, budget)->rows.size(), 1u);
    return budget.spent_bytes();
  };
  const uint64_t before = spent_bytes();
  ASSERT_TRUE(store().put_skipped(std::vector(kMostSkipped, test_skipped(kTrace))).ok());
  EXPECT_EQ(skipped_of(kTrace).size(), kMostSkipped);
  EXPECT_EQ(spent_bytes(), before);
}

TEST_P(SkippedContract, AreOfNoAgeOfCaptures) {
  ASSERT_TRUE(store().put_skipped({test_skipped(1)}).ok());
  EXPECT_EQ(store().stats().oldest_received_unix_nano, 0u);
  rig_.advance(10);
  ASSERT_EQ(send(store(), test_capture(1), "").outcome, AppendOutcome::kDurable);
  EXPECT_EQ(store().stats().oldest_received_unix_nano, kTestNow + 10);
}

TEST_P(SkippedContract, CapturesOfTheirTraceStayThemselves) {
  ASSERT_TRUE(store().put_skipped({test_skipped(2)}).ok());
  ASSERT_EQ(send(store(), test_capture(1), "").outcome, AppendOutcome::kDurable);
  ASSERT_EQ(send(store(), test_capture(8), test_content(8, 100)).outcome, AppendOutcome::kDurable);
  QueryBudget budget;
  EXPECT_EQ(store().of_trace(test_trace_id(2), budget)->size(), 2u);
  EXPECT_EQ(store().traces(budget).value(), std::vector{test_trace_id(2)});
  EXPECT_EQ(skipped_of(2).size(), 1u);
  EXPECT_EQ(store().stats().captures, 2u);
}

TEST_P(SkippedContract, WhatIsInvalidIsLeftOut) {
  SkippedCapture of_no_trace = test_skipped(1), of_no_trigger = test_skipped(1), of_no_text = test_skipped(1);
  of_no_trace.trace_id = {};
  of_no_trigger.trigger = CaptureTrigger{};
  of_no_text.service = "\xff";
  ASSERT_TRUE(store().put_skipped({of_no_trace, of_no_trigger, of_no_text, test_skipped(1)}).ok());
  EXPECT_EQ(skipped_of(1).size(), 1u);
  EXPECT_EQ(store().stats().skipped, 1u);
}

TEST_P(SkippedContract, BeyondTheirShareTheOldestGo) {
  for (uint64_t number = 0; number < 3 * kMostSkipped; ++number) {
    ASSERT_TRUE(store().put_skipped({test_skipped(number + 1)}).ok());
    rig_.advance(1);
    EXPECT_LE(store().stats().skipped, kMostSkipped);
  }
  EXPECT_GE(store().stats().skipped, kMostSkipped - kAtOnce);
  EXPECT_TRUE(skipped_of(2 * kMostSkipped).empty());
  EXPECT_EQ(skipped_of(2 * kMostSkipped + 1 + kAtOnce).size(), 1u);
  std::vector<SkippedCapture> many(2 * kMostSkipped, test_skipped(1));
  many.back() = test_skipped(2);
  ASSERT_TRUE(store().put_skipped(many).ok());
  EXPECT_LE(store().stats().skipped, kMostSkipped);
  EXPECT_GE(store().stats().skipped, kMostSkipped - kAtOnce);
  EXPECT_EQ(skipped_of(1).size() + 1, store().stats().skipped) << "the last ones are kept";
  EXPECT_EQ(skipped_of(2).size(), 1u);
}

TEST_P(SkippedContract, ANodeDisplacesItsOwnFirst) {
  ASSERT_TRUE(store().put_skipped({skipped_by(1, 1)}).ok());
  ASSERT_TRUE(store().put_skipped(std::vector(3 * kMostSkipped, skipped_by(2, 2))).ok());
  EXPECT_EQ(skipped_of(1).size(), 1u);
  EXPECT_GE(skipped_of(2).size(), kMostSkipped - 1 - kAtOnce) << "what nobody else needs";
  ASSERT_TRUE(store().put_skipped(std::vector(3 * kMostSkipped, skipped_by(1, 1))).ok());
  EXPECT_GE(skipped_of(1).size(), kMostSkipped / 2 - kAtOnce);
  EXPECT_GE(skipped_of(2).size(), kMostSkipped / 2 - kAtOnce);
  EXPECT_LE(store().stats().skipped, kMostSkipped);
}

TEST_P(SkippedContract, AgeWithCaptures) {
  ASSERT_TRUE(store().put_skipped({test_skipped(1)}).ok());
  rig_.advance(10);
  ASSERT_TRUE(store().put_skipped({test_skipped(2)}).ok());
  ASSERT_TRUE(store().drop_before(kTestNow + 5).ok());
  EXPECT_TRUE(skipped_of(1).empty());
  EXPECT_EQ(skipped_of(2).size(), 1u);
  EXPECT_EQ(store().stats().skipped, 1u);
}

TEST_P(SkippedContract, TheyAndCapturesDoNotDisplaceOneAnother) {
  const uint64_t captures_bytes = budget_without_skipped(kSkippedBudget);
  const std::string whole = test_content(1, captures_bytes - capture_charge_bytes(0));
  ASSERT_EQ(send(store(), test_capture(1), whole).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(store().stats().bytes, captures_bytes);
  rig_.advance(10);
  ASSERT_TRUE(store().put_skipped(std::vector(2 * kMostSkipped, test_skipped(1))).ok());
  EXPECT_EQ(store().stats().captures, 1u);
  EXPECT_EQ(store().stats().bytes, kSkippedBudget);
  rig_.advance(10);
  ASSERT_EQ(send(store(), test_capture(2), test_content(2, 5'000)).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(store().stats().captures, 1u) << "the older one went";
  EXPECT_EQ(store().stats().skipped, kMostSkipped);
  // Captures cannot use the reserved part, even if there are few reports.
  ASSERT_NE(send(store(), test_capture(3), whole + "x").outcome, AppendOutcome::kDurable);
}

INSTANTIATE_TEST_SUITE_P(Stores, SkippedContract, ::testing::Values("Model", "Rocks"),
                         [](const auto& info) { return std::string(info.param); });

TEST(SkippedOfATrace, TheFirstThousandAreGiven) {
  RocksRig rig;
  rig.options().capture_bytes = 0;
  ASSERT_EQ(rig.open(), "");
  MemoryCaptures model;
  std::vector<SkippedCapture> many;
  for (uint64_t number = 0; number <= kMostSkippedOfTrace; ++number) many.push_back(test_skipped(1, number));
  for (CaptureStore* store : {static_cast<CaptureStore*>(&model), &rig.store().captures()}) {
    ASSERT_TRUE(store->put_skipped(many).ok());
    QueryBudget budget;
    const std::vector<SkippedCapture> found = store->skipped_of_trace(test_trace_id(1), budget).value();
    ASSERT_EQ(found.size(), kMostSkippedOfTrace);
    EXPECT_EQ(found.front(), many.front());
    EXPECT_EQ(found.back(), many[kMostSkippedOfTrace - 1]);
  }
}

// Compares which reports both drop: of several nodes, in pieces, by age and for other reports.
TEST(SkippedRandom, RocksKeepsWhatTheModelKeeps) {
  constexpr uint64_t kTraces = 4;
  for (uint64_t seed = 1; seed <= seeds(4); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto up_to = [&](uint64_t n) { return random() % n; };
    RocksRig rig;
    rig.options().capture_bytes = kSkippedBudget;
    ASSERT_EQ(rig.open(), "");
    MemoryCaptures model({kSkippedBudget, 64 << 20, [&] { return rig.store().clock()->now(); }});
    for (int step = 0; step < 200; ++step) {
      rig.advance(up_to(3));
      std::vector<SkippedCapture> some(up_to(9));
      // Two nodes report four times as often as two others.
      for (SkippedCapture& one : some)
        one = skipped_by(up_to(5) < 4 ? up_to(2) : 2 + up_to(2), up_to(kTraces) + 1, up_to(20));
      const uint64_t before = rig.store().clock()->now() - up_to(300);
      if (up_to(50) == 0) {
        ASSERT_EQ(rig.reopen(), "");
      }
      for (CaptureStore* store : {static_cast<CaptureStore*>(&model), &rig.store().captures()}) {
        ASSERT_TRUE(store->put_skipped(some).ok());
        ASSERT_TRUE(step % 5 != 0 || store->drop_before(before).ok());
      }
      for (uint64_t trace = 1; trace <= kTraces; ++trace) {
        QueryBudget budget;
        const auto expected = model.skipped_of_trace(test_trace_id(trace), budget).value();
        ASSERT_EQ(rig.store().captures().skipped_of_trace(test_trace_id(trace), budget).value(), expected) << step;
      }
      ASSERT_EQ(rig.store().captures().stats(), model.stats());
    }
  }
}

// ---- on a disk ------------------------------------------------------------------------------------------------------

class RocksSkipped : public ::testing::Test {
 protected:
  void SetUp() override {
    rig_.options().capture_bytes = kSkippedBudget;
    ASSERT_EQ(rig_.open(), "");
  }
  CaptureStore& store() { return rig_.store().captures(); }
  static uint64_t dropped(const std::string& reason) {
    return metric("fathom_dropped_skipped_captures_total{reason=\"" + reason + "\"}");
  }
  size_t count_of(uint64_t trace) {
    QueryBudget budget;
    return store().skipped_of_trace(test_trace_id(trace), budget)->size();
  }
  RocksRig rig_;
};

TEST_F(RocksSkipped, AreThereAfterARestart) {
  ASSERT_TRUE(store().put_skipped({test_skipped(1, 1), test_skipped(1, 2)}).ok());
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(store().stats().skipped, 2u);
  EXPECT_EQ(store().stats().damaged, 0u);
  ASSERT_TRUE(store().put_skipped({test_skipped(1, 3)}).ok());
  EXPECT_EQ(count_of(1), 3u) << "none takes the place of another one";
}

TEST_F(RocksSkipped, ARestartKnowsWhoseTheyAre) {
  ASSERT_TRUE(store().put_skipped({skipped_by(1, 1)}).ok());
  ASSERT_TRUE(store().put_skipped(std::vector(kMostSkipped - 1, skipped_by(2, 2))).ok());
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(store().stats().skipped, kMostSkipped);
  ASSERT_TRUE(store().put_skipped(std::vector(kMostSkipped, skipped_by(2, 3))).ok());
  EXPECT_EQ(count_of(1), 1u);
  EXPECT_EQ(count_of(2), 0u);
}

TEST_F(RocksSkipped, ASmallerBudgetHoldsAtTheNextStart) {
  ASSERT_TRUE(store().put_skipped(std::vector(kMostSkipped, test_skipped(1))).ok());
  const uint64_t before = dropped("limit");
  rig_.options().capture_bytes = kSkippedBudget / 2;
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(store().stats().skipped, kMostSkipped / 2);
  EXPECT_EQ(dropped("limit"), before + kMostSkipped / 2);
  EXPECT_EQ(count_of(1), kMostSkipped / 2);
}

// Background threads may sync, too, so the test waits for a moment at which nothing syncs.
TEST_F(RocksSkipped, AreNotSynced) {
  const std::string whole = test_content(1, budget_without_skipped(kSkippedBudget) - capture_charge_bytes(0));
  ASSERT_EQ(send(store(), test_capture(1), whole).outcome, AppendOutcome::kDurable);
  const auto syncs = [&] { return rig_.disk().file_syncs() + rig_.disk().directory_syncs(); };
  EXPECT_TRUE(eventually([&] {
    const uint64_t before = syncs();
    return store().put_skipped({test_skipped(1)}).ok() && syncs() == before;
  }));
  EXPECT_EQ(store().stats().captures, 1u);
}

TEST_F(RocksSkipped, APowerCutLeavesNoDamage) {
  const uint64_t lost = metric("fathom_lost_captures_total");
  ASSERT_TRUE(store().put_skipped({test_skipped(1)}).ok());
  ASSERT_EQ(rig_.cut_power(), "");
  EXPECT_LE(count_of(1), 1u);
  EXPECT_EQ(store().stats().damaged, 0u);
  ASSERT_TRUE(store().put_skipped({test_skipped(2)}).ok());
  EXPECT_EQ(count_of(2), 1u);
  EXPECT_EQ(metric("fathom_lost_captures_total"), lost) << "nobody lost a capture";
}

TEST_F(RocksSkipped, VerificationMissesARow) {
  ASSERT_TRUE(store().put_skipped({test_skipped(1)}).ok());
  rig_.close();
  {
    Result<std::unique_ptr<Database>> database = Database::open(rig_.options(), std::make_shared<LivePartitions>());
    ASSERT_TRUE(database.ok());
    rocksdb::ColumnFamilyHandle* index = (*database)->family(Family::kCaptureIndex);
    const std::unique_ptr<rocksdb::Iterator> rows((*database)->db().NewIterator(rocksdb::ReadOptions(), index));
    rows->SeekToFirst();
    ASSERT_TRUE(rows->Valid());
    ASSERT_TRUE((*database)->db().Delete(rocksdb::WriteOptions(), index, rows->key()).ok());
    rows->Next();
    EXPECT_FALSE(rows->Valid()) << "the row of its trace is the only one";
  }
  Findings findings;
  ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
  const auto misses_row = [](const Damage& damage) {
    return damage.part == "captures" && damage.reason.starts_with("an index row is missing");
  };
  EXPECT_EQ(std::ranges::count_if(findings.damages(), misses_row), 1);
}

TEST_F(RocksSkipped, VerificationAndRepairKnowThem) {
  ASSERT_TRUE(store().put_skipped({test_skipped(1)}).ok());
  rig_.advance(10);
  ASSERT_TRUE(store().put_skipped({test_skipped(1, 1), test_skipped(1, 2)}).ok());
  ASSERT_TRUE(store().drop_before(kTestNow + 5).ok());
  rig_.close();
  Findings findings, findings_of_repair, findings_of_repaired;
  ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
  EXPECT_TRUE(findings.intact());
  TempDirectory directory;
  const RepairRequest request{.from = rig_.path(), .to = directory / "new", .read_clocks = rig_.clocks().reader()};
  Result<RepairOutcome> repaired = repair_store(request, findings_of_repair);
  ASSERT_TRUE(repaired.ok()) << repaired.error().message;
  ASSERT_TRUE(verify_store(request.to, findings_of_repaired).ok());
  EXPECT_TRUE(findings_of_repaired.intact());
  RocksRig other;
  std::filesystem::copy(request.to, other.path(), std::filesystem::copy_options::recursive);
  ASSERT_EQ(other.open(), "");
  QueryBudget budget;
  EXPECT_EQ(other.store().captures().skipped_of_trace(test_trace_id(1), budget)->size(), 2u);
}

TEST_F(RocksSkipped, WhatIsNotKeptIsCounted) {
  const uint64_t invalid = dropped("invalid"), age = dropped("age"),
                 captures = metric("fathom_dropped_captures_total{reason=\"age\"}");
  SkippedCapture of_no_trace = test_skipped(1);
  of_no_trace.trace_id = {};
  ASSERT_TRUE(store().put_skipped({of_no_trace, test_skipped(1)}).ok());
  EXPECT_EQ(dropped("invalid"), invalid + 1);
  EXPECT_EQ(metric("fathom_skipped_captures"), 1u);
  ASSERT_TRUE(store().drop_before(UINT64_MAX).ok());
  EXPECT_EQ(dropped("age"), age + 1);
  EXPECT_EQ(metric("fathom_dropped_captures_total{reason=\"age\"}"), captures);
  EXPECT_EQ(metric("fathom_skipped_captures"), 0u);
}

TEST_F(RocksSkipped, WhatTheDiskRefusesIsCountedOnce) {
  constexpr uint64_t kReserve = 1 << 20;
  rig_.options().reserve_disk_bytes = kReserve;
  ASSERT_EQ(rig_.reopen(), "");
  const uint64_t refused = dropped("refused"), limit = dropped("limit");
  rig_.disk().set_free_bytes(2 * kReserve - 1);
  EXPECT_EQ(store().put_skipped(std::vector(2 * kMostSkipped, test_skipped(1))).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(dropped("refused"), refused + 2 * kMostSkipped);
  EXPECT_EQ(dropped("limit"), limit);
  rig_.disk().release_space();
  EXPECT_TRUE(store().put_skipped(std::vector(2 * kMostSkipped, test_skipped(1))).ok());
  EXPECT_EQ(dropped("refused"), refused + 2 * kMostSkipped);
  EXPECT_EQ(dropped("limit") - limit, 2 * kMostSkipped - store().stats().skipped);
}

TEST(SkippedBudget, WithoutRoomForOneEachIsCounted) {
  RocksRig rig;
  rig.options().capture_bytes = 63 << 12;
  ASSERT_EQ(rig.open(), "");
  const std::string series = "fathom_dropped_skipped_captures_total{reason=\"limit\"}";
  const uint64_t before = metric(series);
  EXPECT_TRUE(rig.store().captures().put_skipped({test_skipped(1), test_skipped(2)}).ok());
  EXPECT_EQ(rig.store().captures().stats().skipped, 0u);
  EXPECT_EQ(metric(series), before + 2);
}

}  // namespace
}  // namespace fathom::store::testing
