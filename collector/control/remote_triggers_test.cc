#include "collector/control/remote_triggers.h"

#include <gtest/gtest.h>

#include <utility>

namespace fathom::collector {
namespace {

class RemoteTriggersTest : public ::testing::Test {
 protected:
  using Verdict = RemoteTriggers::Verdict;
  static TraceId trace(char name) {
    TraceId trace;
    trace.bytes.fill(static_cast<uint8_t>(name));
    return trace;
  }
  // Begin and end in milliseconds. The window to ask for is returned in window_.
  Verdict captured(uint64_t begin, uint64_t end, CaptureTrigger trigger, char name = 't') {
    window_ = {begin * kNanosPerMilli, end * kNanosPerMilli};
    return triggers_.captured(trace(name), trigger, window_, 5);
  }
  std::pair<uint64_t, uint64_t> window() const {
    return {window_.start_unix_nano / kNanosPerMilli, window_.end_unix_nano / kNanosPerMilli};
  }

  RemoteTriggers triggers_{{.traces_per_s = 1e9, .burst = 1e9, .max_traces = 3}};
  RemoteTriggers::Window window_;
};

TEST_F(RemoteTriggersTest, WhatReachesFurtherAsksAgainForAllOfIt) {
  EXPECT_EQ(captured(100, 150, CaptureTrigger::kOverdue), Verdict::kAsk);
  EXPECT_EQ(captured(110, 151, CaptureTrigger::kError), Verdict::kAsked) << "clocks differ by as much";
  EXPECT_EQ(captured(150, 400, CaptureTrigger::kSlow), Verdict::kAsk) << "the rest";
  EXPECT_EQ(window(), std::pair(uint64_t{100}, uint64_t{400}));
  EXPECT_EQ(captured(150, 400, CaptureTrigger::kSlow), Verdict::kAsked);
  EXPECT_EQ(captured(50, 120, CaptureTrigger::kProgram), Verdict::kAsk);
  EXPECT_EQ(window(), std::pair(uint64_t{50}, uint64_t{400}));
}

TEST_F(RemoteTriggersTest, ButNotForEver) {
  EXPECT_EQ(captured(100, 110, CaptureTrigger::kError), Verdict::kAsk);
  for (uint64_t end : {120u, 130u, 140u}) EXPECT_EQ(captured(100, end, CaptureTrigger::kError), Verdict::kAsk) << end;
  EXPECT_EQ(captured(100, 150, CaptureTrigger::kError), Verdict::kTooMany);
  EXPECT_EQ(captured(100, 160, CaptureTrigger::kSlow), Verdict::kAsk) << "others hold captures for it";
  EXPECT_EQ(captured(100, 170, CaptureTrigger::kSlow), Verdict::kTooMany);
}

TEST_F(RemoteTriggersTest, TheFirstThatIsAmongTheSlowestAsksThoughItReachesNoFurther) {
  EXPECT_EQ(captured(100, 200, CaptureTrigger::kError), Verdict::kAsk);
  EXPECT_EQ(captured(110, 190, CaptureTrigger::kSlow), Verdict::kAsk);
  EXPECT_EQ(window(), std::pair(uint64_t{100}, uint64_t{200}));
  EXPECT_EQ(captured(110, 190, CaptureTrigger::kSlow), Verdict::kAsked);
}

TEST_F(RemoteTriggersTest, WhatPeopleAskAllNodesForIsNotAskedForAgain) {
  EXPECT_EQ(captured(100, 200, CaptureTrigger::kError), Verdict::kAsk);
  triggers_.asked(trace('t'), 5);
  triggers_.asked(trace('u'), 5);
  for (char name : {'t', 'u'}) EXPECT_EQ(captured(100, 900, CaptureTrigger::kSlow, name), Verdict::kAsked) << name;
}

TEST_F(RemoteTriggersTest, RemembersABoundedNumberOfTraces) {
  for (char c = 'a'; c <= 'd'; ++c) {
    EXPECT_EQ(captured(100, 200, CaptureTrigger::kSlow, c), Verdict::kAsk);
    EXPECT_EQ(captured(100, 200, CaptureTrigger::kSlow, c), Verdict::kAsked);
  }
  EXPECT_EQ(captured(100, 200, CaptureTrigger::kSlow, 'a'), Verdict::kAsk);
}

}  // namespace
}  // namespace fathom::collector
