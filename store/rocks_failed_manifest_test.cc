// The manifest has an ingestion that RocksDB believes to have failed. The next start needs the ingested files.
#include <atomic>

#include <gtest/gtest.h>

#include "store/testing/damage.h"
#include "store/testing/rocks_rig.h"
#include "store/testing/rocksdb_sync_points.h"

namespace fathom::store::testing {
namespace {

class RocksFailedManifest : public ::testing::Test {
 protected:
  static constexpr uint64_t kTraces = 5;

  void SetUp() override {
    if (!RocksdbSyncPoints::available()) GTEST_SKIP() << "this librocksdb has no sync points";
    points_.on("DBImpl::AddFile:MutexLock", [this](void*) { is_ingesting_ = true; });
    points_.on("VersionSet::LogAndApply:WriteManifest", [this](void*) {
      if (is_ingesting_) rig_.disk().fail_syncs(true);
    });
    ASSERT_EQ(rig_.open(), "");
    for (uint64_t trace = 1; trace <= kTraces; ++trace) {
      ASSERT_EQ(append_once(rig_.store(), make_batch({test_span(trace, 1, 0, 10)})).outcome, AppendOutcome::kDurable);
    }
  }

  void fail_an_ingestion() {
    points_.enable();
    EXPECT_FALSE(rig_.store().settle().ok());
    ASSERT_TRUE(is_ingesting_);
  }
  void expect_everything_after_a_kill() {
    rig_.disk().crash();
    rig_.close();
    rig_.disk().restart_after_kill();
    rig_.disk().fail_syncs(false);
    is_ingesting_ = false;
    ASSERT_EQ(rig_.open(), "");
    for (uint64_t trace = 1; trace <= kTraces; ++trace) EXPECT_TRUE(stored_trace(rig_.store(), trace)) << trace;
    EXPECT_EQ(counted_spans(rig_.store()), kTraces);
  }

  RocksRig rig_;
  RocksdbSyncPoints points_;
  std::atomic<bool> is_ingesting_{false};
};

TEST_F(RocksFailedManifest, KeepsTheIngestedFilesForTheNextStart) {
  fail_an_ingestion();
  expect_everything_after_a_kill();
}

// A further attempt writes files of the same names.
TEST_F(RocksFailedManifest, KeepsTheIngestedFilesWhileSealingIsRepeated) {
  const uint64_t failures = metric("fathom_seal_failures_total");
  fail_an_ingestion();
  ASSERT_TRUE(eventually([&] { return metric("fathom_seal_failures_total") >= failures + 3; }));
  expect_everything_after_a_kill();
}

}  // namespace
}  // namespace fathom::store::testing
