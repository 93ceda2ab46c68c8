// Which triggers have the processor's recording stopped, and when.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "node-agent/testing/capture_service_fixture.h"

namespace fathom::agent {
namespace {

using testing::CaptureServiceTest;
using testing::kMilli;

// Keeps what is rung for, and how many captures were made by then.
class FakeBell : public SnapshotBell {
 public:
  void ring(const SnapshotAsk& ask) override {
    std::lock_guard lock(mutex_);
    asks_.push_back(ask);
  }
  void program_runs(std::shared_ptr<const WatchedProgram> program) override { runs.insert(program->serial); }
  void program_ended(const WatchedProgram& program) override { runs.erase(program.serial); }
  std::vector<SnapshotAsk> asks() {
    std::lock_guard lock(mutex_);
    return asks_;
  }
  std::vector<std::string> reasons() {
    std::vector<std::string> all;
    for (const SnapshotAsk& ask : asks()) all.emplace_back(ask.reason);
    return all;
  }
  std::set<uint32_t> runs;

 private:
  std::mutex mutex_;
  std::vector<SnapshotAsk> asks_;
};

class SnapshotTriggersTest : public CaptureServiceTest {
 protected:
  SnapshotTriggersTest() { capture_options_.snapshots = &bell_; }
  FakeBell bell_;
};

TEST_F(SnapshotTriggersTest, AnOverdueSpanRingsOnceWhileItRuns) {
  begin_with_program();
  EXPECT_EQ(bell_.runs.size(), 1u);
  threshold(50 * kMilli);
  const uint64_t start = now_monotonic_nano();
  pool_.begin_span(0, 30, "work", start);
  ASSERT_TRUE(until_captures(1));
  pool_.end_span(0);
  finish_span(30, start);
  ASSERT_TRUE(until_captures(2));
  ASSERT_EQ(bell_.reasons(), std::vector<std::string>{"overdue"});
  const SnapshotAsk ask = bell_.asks()[0];
  EXPECT_EQ(ask.trace_id, trace_of(30));
  EXPECT_EQ(ask.span_id.bytes[0], 31);
  EXPECT_EQ(ask.begin_nano, start);
  EXPECT_GT(ask.pid, 0);
  EXPECT_GT(ask.tid, 0);
}

// What cannot be captured any more may still be in the rings.
TEST_F(SnapshotTriggersTest, AnOverdueSpanRingsBeforeItsCaptureIsMade) {
  std::atomic<size_t> rung = 0;
  encode_ = [&](const CaptureJob& job, const TickTimes& times) {
    rung = bell_.asks().size();
    return encode_capture(job, times);
  };
  begin_with_program();
  threshold(50 * kMilli);
  pool_.begin_span(0, 30, "work", now_monotonic_nano());
  ASSERT_TRUE(until_captures(1));
  EXPECT_EQ(rung, 1u);
}

TEST_F(SnapshotTriggersTest, SpansAtTheirEndRing) {
  begin_with_program();
  threshold(50 * kMilli);
  const uint64_t start = now_monotonic_nano() - 100 * kMilli;
  finish_request(31, start);
  ASSERT_TRUE(until_captures(1));
  finish_span(41, now_monotonic_nano() - 1 * kMilli, 2);
  ASSERT_TRUE(until_captures(2));
  EXPECT_EQ(bell_.reasons(), (std::vector<std::string>{"slow", "error"}));
  EXPECT_EQ(bell_.asks()[0].begin_nano, start);
  EXPECT_GT(bell_.asks()[0].at_nano, start);
}

TEST_F(SnapshotTriggersTest, ARequestRingsOnceAndOneThatLiesAheadAtItsEnd) {
  begin_with_program();
  CaptureRequest request{.request_id = 1, .trigger = CaptureTrigger::kRequested, .service = "shop"};
  ask(request);
  EXPECT_EQ(bell_.reasons(), std::vector<std::string>{"requested"});
  request.end_unix_nano = now_unix_nano() + 300 * kMilli;
  const uint64_t begin = now_monotonic_nano();
  ask(request);
  ASSERT_TRUE(until([&] { return bell_.asks().size() == 2; }));
  EXPECT_GE(now_monotonic_nano() - begin, 200 * kMilli);
  request.service = "nobody";
  ask(request);
  EXPECT_EQ(bell_.asks().size(), 2u);
}

}  // namespace
}  // namespace fathom::agent
