// Tests the order in which captures and reports of skipped captures are stored, and the memory that reports use.
#include "collector/agents/capture_intake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "collector/testing/fake_captures.h"

namespace fathom::collector {
namespace {

using namespace testing;

// Records each call before FakeCaptures may block it.
class NotingCaptures : public FakeCaptures {
 public:
  Result<std::unique_ptr<store::CaptureWriter>> begin(const store::CaptureInfo& info) override {
    note("capture");
    return FakeCaptures::begin(info);
  }
  Result<> put_skipped(const std::vector<store::SkippedCapture>& skipped) override {
    for (const store::SkippedCapture& one : skipped) note(one.service);
    return FakeCaptures::put_skipped(skipped);
  }

  // False: `what` was not recorded within two minutes.
  bool wait_for(const std::string& what) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(120), [&] { return std::ranges::count(notes_, what) > 0; });
  }
  std::vector<std::string> notes() {
    std::lock_guard lock(mutex_);
    return notes_;
  }

 private:
  void note(const std::string& what) {
    std::lock_guard lock(mutex_);
    notes_.push_back(what);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> notes_;
};

store::SkippedCapture report_of(const std::string& service) {
  store::SkippedCapture report;
  report.trace_id.bytes.fill('t');
  report.trigger = CaptureTrigger::kSlow;
  report.service = service;
  return report;
}

// Blocks the store on a first report, then queues a second report and a capture, and returns the order of all calls.
std::vector<std::string> order_with(uint64_t skipped_wait_nano) {
  NotingCaptures captures;
  CaptureIntake intake({.threads = 1, .skipped_wait_nano = skipped_wait_nano}, captures);
  captures.hold();
  intake.put_skipped({report_of("first")});
  EXPECT_TRUE(captures.wait_for("first"));
  intake.put_skipped({report_of("second")});
  store::CaptureInfo info;
  info.id.bytes.fill('c');
  info.trigger = CaptureTrigger::kSlow;
  info.size_bytes = 3;
  std::promise<ingest::CaptureProgress::State> answer;
  const auto upload = intake.begin(info, false, [&](const ingest::CaptureProgress& progress) {
    if (progress.state != ingest::CaptureProgress::State::kTaken) answer.set_value(progress.state);
  });
  EXPECT_TRUE(intake.take(upload, "abc"));
  captures.release();
  EXPECT_EQ(answer.get_future().get(), ingest::CaptureProgress::State::kDurable);
  EXPECT_TRUE(captures.wait_for("second"));
  intake.stop();
  return captures.notes();
}

TEST(CaptureIntake, ReportsWaitForCaptures) {
  EXPECT_EQ(order_with(UINT64_MAX), (std::vector<std::string>{"first", "capture", "second"}));
}

TEST(CaptureIntake, ReportsThatWaitedLongEnoughGoFirst) {
  EXPECT_EQ(order_with(0), (std::vector<std::string>{"first", "second", "capture"}));
}

TEST(CaptureIntake, ReportsTakeMemoryOfTheBudget) {
  constexpr size_t kSent = 100, kBudget = 8'192, kName = 500;
  NotingCaptures captures;
  CaptureIntake intake({.budget_bytes = kBudget}, captures);
  const uint64_t before = lost_skipped_captures("queue").value();
  captures.hold();
  for (size_t i = 0; i < kSent; ++i) intake.put_skipped({report_of(std::string(kName, 'x'))});
  captures.release();
  intake.stop();
  const uint64_t stored = captures.stats().skipped;
  EXPECT_GT(stored, 0u);
  EXPECT_LE(stored, kBudget / kName);
  EXPECT_EQ(stored + lost_skipped_captures("queue").value() - before, kSent);
  EXPECT_TRUE(wait_for_free_memory());
}

}  // namespace
}  // namespace fathom::collector
