// Losses and the wall clock: whatever the clock says when a damaged log is found, answers about the true time of the
// loss are marked.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/time.h"
#include "store/rocks/database.h"
#include "store/rocks/keys.h"
#include "store/testing/damage.h"
#include "store/testing/rocks_rig.h"
#include "store/verify/verify.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kLossDay = 24 * kNanosPerHour;
constexpr uint64_t kLossBatches = 20;
constexpr uint64_t kLostBatch = kTestNow + 10 * kNanosPerSecond;

class RocksLossClock : public ::testing::Test {
 protected:
  // Batch n comes in second n; batch 10 is damaged.
  void SetUp() override {
    ASSERT_EQ(rig_.open(), "");
    for (uint64_t trace = 1; trace <= kLossBatches; ++trace) {
      rig_.advance(kNanosPerSecond);
      const BatchPtr batch = make_batch({test_span(trace, 1, 0, 10)});
      ASSERT_EQ(append_once(rig_.store(), batch).outcome, AppendOutcome::kDurable);
    }
    rig_.close();
  }

  std::string log() const {
    std::string largest;
    for (const auto& entry : std::filesystem::directory_iterator(rig_.path() + "/store")) {
      if (entry.path().extension() != ".log") continue;
      if (largest.empty() || entry.file_size() > std::filesystem::file_size(largest)) largest = entry.path();
    }
    return largest;
  }
  void flip_batch_10() { flip_bit(log(), 8 * read_file(log()).rfind(test_trace_id(10).view())); }
  void flip_end() { flip_bit(log(), 8 * std::filesystem::file_size(log()) - 1); }

  void step(int64_t nano) {
    clocks().step(nano);
    if (rig_.is_open()) rig_.store().clock()->observe();
  }
  void run(uint64_t nano) {
    for (uint64_t passed = 0; passed < nano; passed += kNanosPerHour / 4) {
      rig_.advance(kNanosPerHour / 4);
      rig_.store().clock()->observe();
    }
  }
  // Whether an answer about this time is marked.
  bool is_marked(uint64_t unix_nano) {
    const std::vector<Loss> losses = rig_.store().losses();
    for (const Loss& loss : losses) EXPECT_LE(loss.first_received_unix_nano, loss.last_received_unix_nano);
    return std::ranges::any_of(losses, [&](const Loss& loss) {
      return loss.first_received_unix_nano <= unix_nano && unix_nano <= loss.last_received_unix_nano;
    });
  }
  void expect_exact() {
    ASSERT_EQ(rig_.store().losses().size(), 1u);
    const Loss loss = rig_.store().losses().front();
    EXPECT_EQ(loss.first_received_unix_nano, kLostBatch - kNanosPerSecond);
    EXPECT_EQ(loss.last_received_unix_nano, kLostBatch + kNanosPerSecond);
  }
  TestClocks& clocks() { return rig_.clocks(); }

  RocksRig rig_;
};

class RocksLossClockSteps : public RocksLossClock, public ::testing::WithParamInterface<int64_t> {};

TEST_P(RocksLossClockSteps, TheTrueTimeIsMarked) {
  const int64_t nano = GetParam() * static_cast<int64_t>(kLossDay);
  flip_batch_10();
  step(nano);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_TRUE(is_marked(kLostBatch)) << "the step may be wrong";
  EXPECT_TRUE(is_marked(kLostBatch + static_cast<uint64_t>(nano))) << "the step may be right";
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_TRUE(is_marked(kLostBatch));
  step(-nano);
  expect_exact();
  ASSERT_EQ(rig_.reopen(), "");
  expect_exact();
}

INSTANTIATE_TEST_SUITE_P(Days, RocksLossClockSteps, ::testing::Values(8, -8, 3650, -20'000));

// After an hour, the server takes the stepped clock for right. Both times are marked while the correction is new.
TEST_F(RocksLossClock, IsMarkedWhenAConfirmedStepIsCorrected) {
  flip_batch_10();
  step(static_cast<int64_t>(8 * kLossDay));
  ASSERT_EQ(rig_.open(), "");
  run(2 * kNanosPerHour);
  EXPECT_TRUE(is_marked(kLostBatch + 8 * kLossDay));
  step(-static_cast<int64_t>(8 * kLossDay));
  EXPECT_TRUE(is_marked(kLostBatch));
  run(8 * kLossDay);
  expect_exact();
}

TEST_F(RocksLossClock, IsMarkedAfterABootIn1970) {
  flip_batch_10();
  clocks().reboot(kNanosPerMinute);
  const uint64_t right = rig_.now_unix_nano();
  clocks().set_wall(30 * kNanosPerSecond);
  ASSERT_EQ(rig_.open(), "");
  expect_exact();
  step(static_cast<int64_t>(right));
  expect_exact();
  ASSERT_EQ(rig_.reopen(), "");
  expect_exact();
}

// Only the time at which it was found bounds this loss.
TEST_F(RocksLossClock, AnOpenEndIsMarkedAfterABootIn1970) {
  flip_end();
  const uint64_t last = rig_.now_unix_nano();
  clocks().reboot(kNanosPerMinute);
  clocks().set_wall(30 * kNanosPerSecond);
  ASSERT_EQ(rig_.open(), "");
  ASSERT_EQ(rig_.store().losses().size(), 1u);
  EXPECT_TRUE(is_marked(last));
  run(kNanosPerHour);
  EXPECT_TRUE(is_marked(last));
  step(static_cast<int64_t>(last + 2 * kNanosPerMinute));
  EXPECT_TRUE(is_marked(last));
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_TRUE(is_marked(last));
  EXPECT_FALSE(is_marked(last - kLossDay)) << "the clock is right again";
  EXPECT_FALSE(is_marked(last + kLossDay));
}

// The clock was saved before the last batches came.
TEST_F(RocksLossClock, AnOpenEndIsMarkedAfterACrashAndABoot) {
  flip_end();
  AgeState state = *decode_age_state(read_file(rig_.path() + "/clock"));
  state.age_nano -= kLossBatches * kNanosPerSecond;
  state.boottime_nano -= kLossBatches * kNanosPerSecond;
  write_file(rig_.path() + "/clock", encode_age_state(state));
  const uint64_t last = rig_.now_unix_nano();
  clocks().reboot(kNanosPerMinute);
  clocks().set_wall(30 * kNanosPerSecond);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_TRUE(is_marked(last));
}

TEST_F(RocksLossClock, VerifyShowsUnixTimes) {
  flip_batch_10();
  ASSERT_EQ(rig_.open(), "");
  step(static_cast<int64_t>(8 * kLossDay));
  run(2 * kNanosPerHour);
  rig_.close();
  Findings findings;
  ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
  ASSERT_EQ(findings.known_losses().size(), 1u);
  EXPECT_EQ(findings.known_losses().front().first_received_unix_nano, kLostBatch - kNanosPerSecond + 8 * kLossDay);
}

// Version 1 of the record, which holds Unix times.
TEST_F(RocksLossClock, AnOlderRecordKeepsItsTimes) {
  const RecordedLoss loss{kLostBatch - kNanosPerSecond, kLostBatch + kNanosPerSecond, kLostBatch, 100, 1};
  const std::string key = keys::kLost + std::string("000001.log.0123");
  {
    Result<std::unique_ptr<Database>> database =
        Database::open(rig_.options(), std::make_shared<const LivePartitions>());
    ASSERT_TRUE(database.ok()) << database.error().message;
    const std::string value = encode_loss_record({.is_unix = true, .losses = {loss}});
    ASSERT_TRUE((*database)->db().Put(rocksdb::WriteOptions(), (*database)->family(Family::kDefault), key, value).ok());
  }
  step(static_cast<int64_t>(8 * kLossDay));
  ASSERT_EQ(rig_.open(), "");
  expect_exact();
  run(2 * kNanosPerHour);
  expect_exact();
}

}  // namespace
}  // namespace fathom::store::testing
