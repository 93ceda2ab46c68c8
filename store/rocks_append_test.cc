// append_here(): on the caller's thread while nothing else is committed, and in the queue otherwise.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "base/time.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

class RocksAppend : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(rig_.open(), ""); }

  static BatchPtr batch_of(uint64_t trace) { return make_batch({test_span(trace, 1, 0, 10)}); }
  // The thread that answers.
  std::thread::id answered_by(uint64_t trace) {
    std::promise<std::thread::id> answered;
    rig_.store().append_here(
        batch_of(trace),
        [&](const AppendResult& result) {
          EXPECT_EQ(result.outcome, AppendOutcome::kDurable);
          answered.set_value(std::this_thread::get_id());
        },
        [] {});
    return answered.get_future().get();
  }

  RocksRig rig_;
};

TEST_F(RocksAppend, AnIdleStoreCommitsOnTheCallersThread) {
  uint64_t trace = 0;
  EXPECT_TRUE(eventually([&] { return answered_by(++trace) == std::this_thread::get_id(); }));
  EXPECT_TRUE(stored_trace(rig_.store(), trace));
  EXPECT_TRUE(append_once(rig_.store(), batch_of(trace)).duplicate);
}

// Not after the answer: gRPC sends it when this call returns.
TEST_F(RocksAppend, TheCallersWorkIsDoneWhileItsBatchIsSynced) {
  uint64_t trace = 0;
  const auto is_done_before_answer = [&] {
    std::atomic<int> done = 0;
    std::promise<int> done_before_answer;
    rig_.store().append_here(
        batch_of(++trace), [&](const AppendResult&) { done_before_answer.set_value(done); }, [&] { ++done; });
    const int before = done_before_answer.get_future().get();
    EXPECT_EQ(done, 1) << trace;
    return before == 1;
  };
  EXPECT_TRUE(eventually(is_done_before_answer));
}

TEST_F(RocksAppend, TheCallersWorkIsDoneOnceAlsoIfNothingIsSynced) {
  std::atomic<int> done = 0;
  const auto append = [&](BatchPtr batch) {
    std::promise<AppendResult> answered;
    rig_.store().append_here(
        std::move(batch), [&](AppendResult result) { answered.set_value(std::move(result)); }, [&] { ++done; });
    return answered.get_future().get().outcome;
  };
  EXPECT_EQ(append(make_batch({})), AppendOutcome::kDurable);
  EXPECT_EQ(done, 1);
  for (int repeat = 2; repeat < 4; ++repeat) {
    EXPECT_EQ(append(batch_of(1)), AppendOutcome::kDurable);
    EXPECT_EQ(done, repeat);
  }
  rig_.disk().fail_writes(true);
  EXPECT_EQ(append(batch_of(2)), AppendOutcome::kRetryable);
  EXPECT_EQ(done, 4);
}

// Also a query within the answer.
TEST_F(RocksAppend, AQueryFindsWhatWasAcknowledgedBeforeIt) {
  for (uint64_t trace = 1; trace <= 500; ++trace) {
    std::promise<bool> found;
    rig_.store().append_here(
        batch_of(trace), [&](const AppendResult&) { found.set_value(stored_trace(rig_.store(), trace).has_value()); },
        [] {});
    ASSERT_TRUE(found.get_future().get()) << trace;
    ASSERT_EQ(rig_.store().stats().spans_stored, trace);
  }
}

TEST_F(RocksAppend, ADropSeesWhatWasAcknowledgedBeforeIt) {
  for (uint64_t trace = 1; trace <= 50; ++trace) {
    std::promise<void> answered;
    rig_.store().append_here(
        batch_of(trace), [&](const AppendResult&) { answered.set_value(); }, [] {});
    answered.get_future().wait();
    rig_.advance(kNanosPerHour);
    ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano()).ok());
    ASSERT_EQ(rig_.store().stats().spans_stored, 0u) << trace;
  }
}

// Each answer comes once, from whatever thread, and nothing is lost or doubled while the store seals.
TEST_F(RocksAppend, CallersAndTheQueueDoNotDisturbEachOther) {
  constexpr uint64_t kThreads = 4, kBatches = 200;
  std::atomic<uint64_t> durable = 0;
  std::vector<std::jthread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint64_t i = 1; i <= kBatches; ++i) {
        durable += append_once(rig_.store(), batch_of(thread * kBatches + i)).outcome == AppendOutcome::kDurable;
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(rig_.store().settle().ok());
  threads.clear();
  EXPECT_EQ(durable, kThreads * kBatches);
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(counted_spans(rig_.store()), kThreads * kBatches);
}

}  // namespace
}  // namespace fathom::store::testing
