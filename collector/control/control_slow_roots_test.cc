#include <gtest/gtest.h>

#include "collector/control/control_loop.h"
#include "collector/testing/fake_nodes.h"
#include "store/batch.h"

namespace fathom::collector {
namespace {

class ControlSlowRootsTest : public ::testing::Test {
 protected:
  ControlSlowRootsTest() {
    for (char node : {'a', 'b'}) nodes_.connect(node);
    pass(0);
    for (char node : {'a', 'b'}) nodes_.take(node);  // thresholds
  }

  ControlOptions options() {
    ControlOptions options;
    options.slow_roots = roots_;
    options.now_monotonic_nano = [this] { return monotonic_; };
    options.now_unix_nano = [this] { return kUnix + monotonic_; };
    return options;
  }
  void pass(uint64_t nano) {
    monotonic_ += nano;
    loop_.run_due();
  }
  // A root span without a service's name, by OTLP.
  void receive_root(char trace) {
    store::BatchBuilder builder;
    store::SpanView root;
    root.trace_id.bytes.fill(static_cast<uint8_t>(trace));
    root.span_id.bytes[0] = 1;
    root.start_unix_nano = kUnix + monotonic_;
    root.end_unix_nano = root.start_unix_nano + kNanosPerSecond;
    root.name = "GET /cart";
    builder.add(root);
    roots_->took(*builder.finish());
  }
  testing::wire::CaptureRequest only_request(char node) {
    auto asked = nodes_.take(node);
    EXPECT_EQ(asked.size(), 1u);
    return asked.empty() ? testing::wire::CaptureRequest() : asked[0].capture_request();
  }

  static constexpr uint64_t kUnix = 1'795'221'000'000'000'000;
  uint64_t monotonic_ = 1000 * kNanosPerSecond;
  std::shared_ptr<SlowRoots> roots_ = std::make_shared<SlowRoots>();
  testing::FakeNodes nodes_;
  ThresholdLearner learner_{{}};
  ControlLoop loop_{options(), nodes_, learner_};
};

TEST_F(ControlSlowRootsTest, AllNodesHoldItsTraceAndLaterSendIt) {
  receive_root('t');
  pass(kNanosPerSecond);
  for (char node : {'a', 'b'}) {
    const auto hold = only_request(node);
    EXPECT_EQ(hold.trace_id(), std::string(16, 't'));
    EXPECT_GT(hold.hold_nano(), 30 * kNanosPerSecond);
    EXPECT_EQ(hold.reason(), "among the slowest of unknown_service: GET /cart");
  }
  pass(kNanosPerMinute + SlowRoots::kGraceNano);
  for (char node : {'a', 'b'}) {
    const auto wanted = only_request(node);
    EXPECT_EQ(wanted.trigger(), testing::wire::CAPTURE_TRIGGER_REMOTE);
    EXPECT_EQ(wanted.trace_id(), std::string(16, 't'));
    EXPECT_EQ(wanted.hold_nano(), 0u);
    EXPECT_EQ(wanted.end_unix_nano(), 0u) << "each node captures the time of its own spans";
  }
}

TEST_F(ControlSlowRootsTest, WithoutNodesNothingIsRanked) {
  for (char node : {'a', 'b'}) nodes_.disconnect(node);
  pass(kNanosPerSecond);
  receive_root('t');
  for (char node : {'a', 'b'}) nodes_.connect(node);
  pass(kNanosPerMinute);
  for (char node : {'a', 'b'}) {
    for (const auto& message : nodes_.take(node)) EXPECT_FALSE(message.has_capture_request());
  }
}

}  // namespace
}  // namespace fathom::collector
