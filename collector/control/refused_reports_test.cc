#include "collector/control/refused_reports.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collector/control/control_loop.h"
#include "collector/testing/fake_nodes.h"

namespace fathom::collector {
namespace {

using namespace testing;

class RefusedReportsTest : public ::testing::Test {
 protected:
  RefusedReportsTest() {
    options_.now_monotonic_nano = [this] { return monotonic_; };
    options_.now_unix_nano = [this] { return kUnix + monotonic_; };
  }

  ControlLoop& loop() {
    if (!loop_) {
      loop_ = std::make_unique<ControlLoop>(options_, nodes_, learner_);
      loop_->set_skipped_sink([this](std::vector<store::SkippedCapture> skipped) {
        reports_.insert(reports_.end(), skipped.begin(), skipped.end());
      });
    }
    return *loop_;
  }
  void pass(uint64_t nano) {
    monotonic_ += nano;
    loop().run_due();
  }
  static store::CaptureInfo info(char trace, CaptureTrigger trigger = CaptureTrigger::kSlow) {
    store::CaptureInfo info;
    info.trace_id.bytes.fill(static_cast<uint8_t>(trace));
    info.trigger = trigger;
    info.operation = "GET /cart";
    return info;
  }
  void announce(char node, char trace) { loop().slow_trace(node_id(node), {info(trace).trace_id, "GET /cart", 95}); }
  // The reports since the last call, each as trace and node.
  std::vector<std::string> take_reports() {
    std::vector<std::string> words;
    for (const store::SkippedCapture& one : std::exchange(reports_, {})) {
      EXPECT_EQ(one.reason, SkipReason::kRefused);
      words.push_back(std::string(1, static_cast<char>(one.trace_id.bytes[0])) + "@" + one.node_name);
    }
    return words;
  }

  static constexpr uint64_t kUnix = 1'795'221'000'000'000'000;
  uint64_t monotonic_ = 1000 * kNanosPerSecond;
  ControlOptions options_;
  FakeNodes nodes_;
  ThresholdLearner learner_{{}};
  std::unique_ptr<ControlLoop> loop_;
  std::vector<store::SkippedCapture> reports_;
};

TEST_F(RefusedReportsTest, NodesThatAreNotAskedAreReportedOncePerTrace) {
  options_.remote = {.traces_per_s = 0.001, .burst = 1};
  for (char node : {'a', 'b', 'c'}) nodes_.connect(node);
  loop().capture_begins(node_id('a'), info('t'));
  EXPECT_TRUE(take_reports().empty());
  loop().capture_begins(node_id('a'), info('u'));
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_EQ(reports_[0].node_id, node_id('b'));
  EXPECT_EQ(reports_[0].trigger, CaptureTrigger::kRemote);
  EXPECT_EQ(reports_[0].operation, "GET /cart");
  EXPECT_EQ(reports_[0].skipped_unix_nano, kUnix + monotonic_);
  EXPECT_EQ(take_reports(), (std::vector<std::string>{"u@host-b", "u@host-c"}));
  loop().capture_begins(node_id('b'), info('u', CaptureTrigger::kError));
  EXPECT_TRUE(take_reports().empty());
  pass(kNanosPerMinute);
  loop().capture_begins(node_id('a'), info('u'));
  EXPECT_EQ(take_reports().size(), 2u);
}

TEST_F(RefusedReportsTest, AHoldThatIsRefusedIsReportedWhenItsTraceIsCaptured) {
  options_.holds = {.traces_per_s = 0.001, .burst = 1};
  for (char node : {'a', 'b'}) nodes_.connect(node);
  for (char trace : {'t', 'u', 'v'}) announce('a', trace);
  EXPECT_EQ(nodes_.take('b').size(), 1u);
  EXPECT_TRUE(take_reports().empty()) << "most of them are never chosen";
  pass(2 * kNanosPerMinute);
  nodes_.take('b');
  for (char trace : {'t', 'u', 'u'}) loop().capture_begins(node_id('a'), info(trace));
  EXPECT_EQ(take_reports(), std::vector<std::string>{"u@host-b"}) << "t was held";
  EXPECT_EQ(nodes_.take('b').size(), 2u) << "it may have something all the same";
  pass(RefusedReports::kKeepHoldsNano);
  loop().capture_begins(node_id('a'), info('v'));
  EXPECT_TRUE(take_reports().empty()) << "forgotten";
}

TEST_F(RefusedReportsTest, ARefusedHoldIsNotReportedOfNodesThatDoNotKnowHolds) {
  options_.holds = {.traces_per_s = 0.001, .burst = 0};
  for (char node : {'a', 'b', 'c'}) nodes_.connect(node);
  nodes_.hold_nothing('b');
  announce('a', 't');
  loop().capture_begins(node_id('a'), info('t'));
  EXPECT_EQ(take_reports(), std::vector<std::string>{"t@host-c"});
}

TEST_F(RefusedReportsTest, AHoldThatIsToldLaterIsNotReported) {
  options_.holds = {.traces_per_s = 1, .burst = 1};
  for (char node : {'a', 'b'}) nodes_.connect(node);
  for (char trace : {'t', 'u'}) announce('a', trace);
  pass(kNanosPerSecond);
  announce('b', 'u');
  loop().capture_begins(node_id('a'), info('u'));
  EXPECT_TRUE(take_reports().empty());
}

TEST_F(RefusedReportsTest, ReportsOfNodesThatAreNotAskedAreBounded) {
  options_.remote = {.traces_per_s = 0.001, .burst = 0};
  for (char node : {'a', 'b'}) nodes_.connect(node);
  loop();
  const auto dropped = [] { return ControlMetrics::get().dropped_reports.value(); };
  const uint64_t before = dropped();
  const auto capture_many = [this](int first, int last) {
    for (int number = first; number < last; ++number) {
      store::CaptureInfo one = info('t');
      std::memcpy(one.trace_id.bytes.data(), &number, sizeof number);
      loop().capture_begins(node_id('a'), one);
    }
  };
  capture_many(0, 1000);
  EXPECT_EQ(reports_.size(), static_cast<size_t>(RefusedReports::kBurst));
  EXPECT_EQ(dropped(), before + 1000 - reports_.size());
  monotonic_ += kNanosPerSecond;
  reports_.clear();
  capture_many(1000, 2000);
  EXPECT_EQ(reports_.size(), static_cast<size_t>(RefusedReports::kPerSecond));
}

TEST_F(RefusedReportsTest, WithoutAnybodyWhoTakesThemTheyAreCounted) {
  const uint64_t before = ControlMetrics::get().dropped_reports.value();
  RefusedReports reports;
  reports.report(info('t'), {{node_id('a'), "host-a", 1}, {node_id('b'), "host-b", 2}}, monotonic_, kUnix);
  EXPECT_EQ(ControlMetrics::get().dropped_reports.value(), before + 2);
}

}  // namespace
}  // namespace fathom::collector
