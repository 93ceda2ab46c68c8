#include "collector/control/control_router.h"

#include <gtest/gtest.h>

#include <future>

#include "collector/testing/fake_nodes.h"

namespace fathom::collector {
namespace {

using namespace testing;

template <typename Answer>
struct Promised {
  std::shared_ptr<std::promise<Result<Replies<Answer>>>> promise =
      std::make_shared<std::promise<Result<Replies<Answer>>>>();
  RepliesDone<Answer> done() {
    return [promise = promise](Result<Replies<Answer>> replies) { promise->set_value(std::move(replies)); };
  }
  Result<Replies<Answer>> wait() { return promise->get_future().get(); }
};

class ControlRouterTest : public ::testing::Test {
 protected:
  ControlRouterTest() { nodes_.connect('a'); }
  ThresholdLearner learner_{{}};
  FakeNodes nodes_;
  ControlRouter router_;
};

TEST_F(ControlRouterTest, AnAnswerThatComesAtOnceIsHeard) {
  nodes_.on_send = [this](const NodeId& node, const wire::CollectorMessage& asked) {
    if (asked.has_capture_request()) {
      router_.answered(node, CaptureAnswer{asked.capture_request().request_id(), {}, "skipped"});
    }
  };
  router_.start(nodes_, learner_);
  for (int i = 0; i < 100; ++i) {
    Promised<CaptureAnswer> promised;
    router_.capture({.service = "shop"}, promised.done());
    Result<Replies<CaptureAnswer>> replies = promised.wait();
    ASSERT_TRUE(replies.ok());
    ASSERT_TRUE(replies->nodes.at(0).answer);
    EXPECT_EQ(replies->nodes[0].answer->skipped, "skipped");
  }
}

TEST_F(ControlRouterTest, StopAnswersAllWhoWait) {
  router_.start(nodes_, learner_);
  Promised<CaptureAnswer> capture, late;
  Promised<TracepointAnswer> tracepoints;
  router_.capture({.service = "shop"}, capture.done());
  router_.tracepoints({}, tracepoints.done());
  router_.stop();
  router_.stop();
  EXPECT_NE(capture.wait()->nodes.at(0).failure, "");
  EXPECT_NE(tracepoints.wait()->nodes.at(0).failure, "");
  router_.capture({.service = "shop"}, late.done());
  EXPECT_EQ(late.wait().error().code, ErrorCode::kUnavailable);
  router_.node_gone(node_id('a'));
}

TEST_F(ControlRouterTest, NodesAreHeardFromManyThreads) {
  router_.start(nodes_, learner_);
  std::vector<std::thread> threads;
  for (char name : {'a', 'b', 'c'}) {
    threads.emplace_back([this, name] {
      for (int i = 0; i < 200; ++i) {
        nodes_.connect(name);
        router_.node_connected(node_id(name));
        store::CaptureInfo info;
        info.trace_id.bytes.fill(static_cast<uint8_t>(i + 1));
        router_.capture_begins(node_id(name), info);
        router_.answered(node_id(name), TracepointAnswer{1});
        nodes_.disconnect(name);
        router_.node_gone(node_id(name));
      }
    });
  }
  for (int i = 0; i < 50; ++i) router_.tracepoints({}, [](auto) {});
  for (std::thread& thread : threads) thread.join();
  router_.stop();
}

}  // namespace
}  // namespace fathom::collector
