// The starts of lost spans: stored spans that were received near a loss show when its spans may have started.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/time.h"
#include "store/testing/capture_builder.h"
#include "store/testing/damage.h"
#include "store/testing/log_damage.h"

namespace fathom::store::testing {
namespace {

constexpr int64_t kHalfHour = static_cast<int64_t>(kNanosPerHour / 2);
constexpr uint64_t kOtherTrace = 1000;

class RocksLossStarts : public LogDamage {
 protected:
  void SetUp() override {
    LogDamage::SetUp();
    rig_.options().durability = Durability::kOs;  // a start keeps the logs
  }
  // The span starts this long after the first batch was received.
  void append_started(int64_t start_nano) {
    const BatchPtr batch = make_batch({test_span(kOtherTrace, 1, start_nano, 10)});
    ASSERT_EQ(append_once(rig_.store(), batch).outcome, AppendOutcome::kDurable);
  }
  // With a span that was received after the lost batch.
  void lose_one_batch_near(int64_t start_nano) {
    const std::string path = log();
    ASSERT_EQ(rig_.open(), "");
    append_started(start_nano);
    rig_.close();
    flip_bit(path, 8 * (std::filesystem::file_size(path) / 3));
    ASSERT_EQ(rig_.open(), "");
    ASSERT_EQ(missing_traces().size(), 1u);
  }
  Loss loss() {
    const std::vector<Loss> losses = rig_.store().losses();
    EXPECT_EQ(losses.size(), 1u);
    return losses.empty() ? Loss() : losses.front();
  }
  void expect_earliest(uint64_t unix_nano) {
    EXPECT_EQ(loss().earliest_start_unix_nano, unix_nano);
    EXPECT_EQ(loss().latest_start_unix_nano, loss().last_received_unix_nano);
  }
};

TEST_F(RocksLossStarts, ALossReachesTenMinutesBeforeItsReception) {
  lose_one_batch_near(0);
  expect_earliest(loss().first_received_unix_nano - 10 * kNanosPerMinute);
}

TEST_F(RocksLossStarts, LateSpansNearALossShowHowFarItReachesBack) {
  lose_one_batch_near(-kHalfHour);
  expect_earliest(kTestNow - kNanosPerHour / 2);
  ASSERT_EQ(rig_.reopen(), "");
  expect_earliest(kTestNow - kNanosPerHour / 2);
  ASSERT_TRUE(rig_.store().settle().ok());
  ASSERT_EQ(rig_.store().stats().spans_unsealed, 0u);
  expect_earliest(kTestNow - kNanosPerHour / 2);
  ASSERT_EQ(rig_.reopen(), "");
  expect_earliest(kTestNow - kNanosPerHour / 2);
}

TEST_F(RocksLossStarts, SpansOfAClockThatRunsAheadShowHowFarItReachesForward) {
  lose_one_batch_near(kHalfHour);
  EXPECT_EQ(loss().latest_start_unix_nano, kTestNow + kNanosPerHour / 2);
  ASSERT_TRUE(rig_.store().settle().ok());
  EXPECT_EQ(loss().latest_start_unix_nano, kTestNow + kNanosPerHour / 2);
  EXPECT_EQ(loss().earliest_start_unix_nano, loss().first_received_unix_nano - 10 * kNanosPerMinute);
}

TEST_F(RocksLossStarts, LateSpansOfAnotherTimeDoNotCount) {
  lose_one_batch_near(0);
  rig_.advance(3 * kNanosPerHour);
  append_started(-kHalfHour);
  expect_earliest(loss().first_received_unix_nano - 10 * kNanosPerMinute);
  ASSERT_TRUE(rig_.store().settle().ok());
  expect_earliest(loss().first_received_unix_nano - 10 * kNanosPerMinute);
}

TEST_F(RocksLossStarts, LateSpansWithinTheHourAfterALossCount) {
  lose_one_batch_near(0);
  rig_.advance(kNanosPerHour - 2 * kNanosPerMinute);
  append_started(-kHalfHour);
  expect_earliest(kTestNow - kNanosPerHour / 2);
}

// Queries about spans are not marked, lists of captures are.
TEST_F(RocksLossStarts, ALossOfOnlyACaptureIsALossForListsOfCaptures) {
  ASSERT_EQ(rig_.open(), "");
  const CaptureInfo capture = test_capture(1);
  ASSERT_EQ(send(rig_.store().captures(), capture, test_content(1, 5000)).outcome, AppendOutcome::kDurable);
  append(kBatches + 1);
  rig_.close();
  const std::string path = newest_log();
  flip_bit(path, 8 * read_file(path).find(capture.id.view()));
  for ([[maybe_unused]] const char* start : {"repair", "load"}) {
    ASSERT_EQ(rig_.reopen(), "");
    EXPECT_TRUE(missing_traces().empty());
    EXPECT_FALSE(rig_.store().captures().info(capture.id).ok());
    EXPECT_TRUE(rig_.store().losses().empty());
    ASSERT_EQ(rig_.store().captures().losses().size(), 1u);
    EXPECT_EQ(rig_.store().captures().losses().front().most_batches, 0u);
  }
}

}  // namespace
}  // namespace fathom::store::testing
