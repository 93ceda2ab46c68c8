#include "node-agent/triggers/capture_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "base/metrics.h"
#include "node-agent/testing/capture_service_fixture.h"
#include "node-agent/triggers/encode_capture.h"

namespace fathom::agent {
namespace {

using testing::CaptureServiceTest;
using testing::kMilli;
using testing::ScriptedDetail;
using testing::ScriptedPool;
using testing::Sleeper;
using testing::SocketClient;

TEST_F(CaptureServiceTest, AnOverdueSpanIsCapturedWhileItRunsAndItsRestWhenItEnds) {
  begin_with_program();
  threshold(50 * kMilli);
  uint64_t start = now_monotonic_nano();
  pool_.begin_span(0, 30, "work", start);
  write_event(1, "first");
  ASSERT_TRUE(until_captures(1));
  const OutgoingCapture& first = captures_.captures[0];
  EXPECT_EQ(first.begin.trigger, CaptureTrigger::kOverdue);
  EXPECT_EQ(first.begin.trace_id, trace_of(30));
  EXPECT_EQ(first.begin.span_id.bytes[0], 31);
  EXPECT_EQ(first.begin.operation, "work");
  EXPECT_EQ(first.begin.service, "shop");
  EXPECT_FALSE(first.begin.id.is_zero());
  capture::Capture content = captures_.content(0);
  EXPECT_NE(content.reason.find("work has been running for"), std::string::npos) << content.reason;
  EXPECT_LE(content.begin_nano, start);
  EXPECT_GE(content.end_nano, start + 50 * kMilli);
  std::vector<std::string> texts = captures_.texts(0);
  EXPECT_TRUE(std::count(texts.begin(), texts.end(), "first"));
  ASSERT_FALSE(content.threads.empty());
  ASSERT_EQ(content.threads[0].open.size(), 1u);
  EXPECT_EQ(content.threads[0].open[0].name, "work");

  write_event(2, "rest");
  pool_.end_span(0);
  finish_span(30, start);
  ASSERT_TRUE(until_captures(2));
  EXPECT_EQ(captures_.captures[1].begin.trigger, CaptureTrigger::kSlow);
  EXPECT_EQ(captures_.captures[1].begin.trace_id, trace_of(30));
  EXPECT_EQ(captures_.content(1).begin_nano, content.end_nano) << "nothing twice";
  EXPECT_EQ(captures_.texts(1), (std::vector<std::string>{"rest"}));
}

// A child that is slow as well ends first, and must not take what belongs to the span around it.
TEST_F(CaptureServiceTest, TheRestIsCapturedWhenTheOverdueSpanEndsWhateverEndsBefore) {
  begin_with_program();
  threshold(50 * kMilli);
  uint64_t start = now_monotonic_nano();
  pool_.begin_span(0, 30, "work", start);
  ASSERT_TRUE(until_captures(1));
  finish_span(31, start + 1000);
  pass_ticks(5);
  EXPECT_EQ(captures_.captures.size(), 1u);
  write_event(2, "rest");
  pool_.end_span(0);
  finish_span(30, start);
  ASSERT_TRUE(until_captures(2));
  EXPECT_EQ(captures_.captures[1].begin.trigger, CaptureTrigger::kSlow);
  EXPECT_EQ(captures_.content(1).begin_nano, captures_.content(0).end_nano);
  EXPECT_EQ(captures_.texts(1), (std::vector<std::string>{"rest"}));
}

// What was lost of a span while it ran is captured at its end, and its operation has its turn still.
class LostCaptureTest : public CaptureServiceTest {
 protected:
  void begin_overdue_span() {
    threshold(50 * kMilli);
    start_nano_ = now_monotonic_nano();
    pool_.begin_span(0, 30, "work", start_nano_);
    write_event(1, "first");
  }
  void end_span_and_expect_all_of_it(size_t captures_before) {
    write_event(2, "rest");
    pool_.end_span(0);
    finish_request(30, start_nano_);
    ASSERT_TRUE(until_captures(captures_before + 1));
    EXPECT_EQ(captures_.captures.back().begin.trigger, CaptureTrigger::kSlow);
    EXPECT_LE(captures_.content(captures_before).begin_nano, start_nano_);
    std::vector<std::string> texts = captures_.texts(captures_before);
    EXPECT_EQ(std::count(texts.begin(), texts.end(), "first"), 1);
    EXPECT_EQ(std::count(texts.begin(), texts.end(), "rest"), 1);
  }
  static uint64_t skipped(SkipReason reason) {
    return counter("fathom_agent_captures_skipped_total", "",
                   label("trigger", "overdue") + "," + label("reason", name_of(reason)))
        .value();
  }
  uint64_t start_nano_ = 0;
};

TEST_F(LostCaptureTest, ThatCouldNotBeEncoded) {
  std::atomic<bool> fails = true;
  encode_ = [&](const CaptureJob& job, const TickTimes& times) -> Result<MadeCapture> {
    if (fails.exchange(false)) return exhausted("no memory");
    return encode_capture(job, times);
  };
  begin_with_program();
  uint64_t before = skipped(SkipReason::kFailed);
  begin_overdue_span();
  ASSERT_TRUE(until([&] { return skipped(SkipReason::kFailed) == before + 1; }));
  end_span_and_expect_all_of_it(0);
}

TEST_F(LostCaptureTest, ForWhichTheWorkerHadNoTime) {
  std::atomic<bool> works = false, goes_on = false;
  encode_ = [&](const CaptureJob& job, const TickTimes& times) {
    works = true;
    goes_on.wait(false);
    return encode_capture(job, times);
  };
  capture_options_.worker.most_jobs = 2;  // one of them is for requests that have ended
  capture_options_.margin_nano = 0;
  begin_with_program();
  finish_span(200, now_monotonic_nano() - 1 * kMilli, 2);
  ASSERT_TRUE(until([&] { return works.load(); }));
  for (uint64_t number : {210, 220}) finish_span(number, now_monotonic_nano() - 1 * kMilli, 2);
  pass_ticks(5);
  uint64_t before = skipped(SkipReason::kBusy);
  begin_overdue_span();
  EXPECT_TRUE(until([&] { return skipped(SkipReason::kBusy) == before + 1; }));
  goes_on = true;
  goes_on.notify_all();
  ASSERT_TRUE(until_captures(3));
  end_span_and_expect_all_of_it(3);
}

TEST_F(LostCaptureTest, ForWhichThereWasNoMemoryUntilTheBudgetWasSetAnew) {
  begin_with_program();
  CaptureWorkerOptions worker;
  worker.most_held_bytes = uint64_t{worker.budget_bytes} - 1;
  service_->set_limits(worker);
  uint64_t before = skipped(SkipReason::kMemory);
  begin_overdue_span();
  ASSERT_TRUE(until([&] { return skipped(SkipReason::kMemory) == before + 1; }));
  worker.budget_bytes = worker.most_held_bytes;
  service_->set_limits(worker);
  end_span_and_expect_all_of_it(0);
}

TEST_F(CaptureServiceTest, SlowRequestsAndFailedSpansAreCapturedWhenTheyEnd) {
  begin_with_program();
  write_event(1, "slow");
  finish_request(10, now_monotonic_nano() - 60 * kMilli);
  finish_span(20, now_monotonic_nano() - 1 * kMilli, 2);
  finish_span(40, now_monotonic_nano() - 1 * kMilli);
  ASSERT_TRUE(until_captures(2));
  pass_ticks(5);
  std::vector<CaptureTrigger> triggers = captures_.triggers();
  std::sort(triggers.begin(), triggers.end());
  EXPECT_EQ(triggers, (std::vector<CaptureTrigger>{CaptureTrigger::kSlow, CaptureTrigger::kError}));
}

TEST_F(CaptureServiceTest, OfAnOperationTheSlowestOfAPeriodIsCaptured) {
  // A minute began a second ago; it lasts until the test moves the wall clock.
  const auto ahead_nano =
      std::make_shared<uint64_t>(kNanosPerMinute + kNanosPerSecond - now_monotonic_nano() % kNanosPerMinute);
  capture_options_.provisional.slowest.per_minute = 1;
  capture_options_.provisional.minute_nano = kNanosPerMinute;
  capture_options_.provisional.calendar_ahead_nano = [ahead_nano] { return *ahead_nano; };
  begin_with_program();
  for (uint64_t number = 10; number < 200; number += 10) {
    finish_request(number, now_monotonic_nano() - (number == 70 ? 30 : 10) * kMilli);
  }
  const auto is_announced = [&] {
    return !captures_.announced.empty() && captures_.announced.back().trace_id == trace_of(70);
  };
  ASSERT_TRUE(until(is_announced)) << "so that other nodes hold their captures";
  EXPECT_EQ(captures_.announced.back().operation, "work");
  EXPECT_TRUE(captures_.captures.empty());
  ASSERT_TRUE(until([&] {
    *ahead_nano += kNanosPerSecond;  // not more at once, which would be a jump
    return !captures_.captures.empty();
  }));
  pass_ticks(5);
  ASSERT_EQ(captures_.captures.size(), 1u);
  EXPECT_EQ(captures_.captures[0].begin.trace_id, trace_of(70));
  EXPECT_NE(captures_.content(0).reason.find("one of the slowest within"), std::string::npos);
}

TEST_F(CaptureServiceTest, AProgramTriggersItself) {
  begin_with_program();
  write_event(1, "odd");
  pool_.trigger("queue is full", 50, now_monotonic_nano());
  ASSERT_TRUE(until_captures(1));
  EXPECT_EQ(captures_.captures[0].begin.trigger, CaptureTrigger::kProgram);
  EXPECT_EQ(captures_.captures[0].begin.trace_id, trace_of(50));
  EXPECT_EQ(captures_.content(0).reason, "queue is full");
  EXPECT_EQ(captures_.texts(0), (std::vector<std::string>{"before", "odd"}));
}

TEST_F(CaptureServiceTest, RequestsByProcessAndByService) {
  begin_with_program();
  CaptureAnswer answer = ask({.request_id = 7, .pid = static_cast<uint32_t>(::getpid()), .reason = "a person"});
  EXPECT_EQ(answer.request_id, 7u);
  ASSERT_EQ(answer.capture_ids.size(), 1u) << answer.skipped;
  EXPECT_EQ(answer.skipped, "");
  ASSERT_EQ(captures_.captures.size(), 1u);
  EXPECT_EQ(captures_.captures[0].begin.id, answer.capture_ids[0]);
  EXPECT_EQ(captures_.captures[0].begin.trigger, CaptureTrigger::kRequested);
  EXPECT_EQ(captures_.texts(0), (std::vector<std::string>{"before"}));
  EXPECT_EQ(captures_.content(0).reason, "a person");
  EXPECT_EQ(ask({.service = "shop"}).capture_ids.size(), 1u);
  answer = ask({.service = "nobody"});
  EXPECT_TRUE(answer.capture_ids.empty());
  EXPECT_EQ(answer.skipped, "this node has nothing of it: no program of this service uses fathom's client here");
}

TEST_F(CaptureServiceTest, AProcessWithoutTheClientIsNamedAsSuch) {
  begin();
  Sleeper sleeper;
  const auto pid = static_cast<uint32_t>(sleeper.pid());
  EXPECT_NE(ask({.pid = pid}).skipped.find("process " + std::to_string(pid) + " does not use fathom's client"),
            std::string::npos);
  sleeper.kill();
  EXPECT_TRUE(
      until([&] { return ask({.pid = pid}).skipped.ends_with("no process " + std::to_string(pid) + " runs here"); }));
}

// ---- reports of skipped captures -----------------------------------------------------------------------------------

TEST_F(CaptureServiceTest, TheCollectorHearsWhichTraceWasSkippedAndWhy) {
  capture_options_.limits.rates[CaptureTrigger::kError] = {0.001, 1};
  begin_with_program();
  finish_span(200, now_monotonic_nano() - 1 * kMilli, 2);
  ASSERT_TRUE(until_captures(1));
  finish_span(210, now_monotonic_nano() - 1 * kMilli, 2);
  ASSERT_TRUE(until([&] { return !captures_.skipped.empty(); }));
  ASSERT_EQ(captures_.skipped.size(), 1u);
  const ingest::SkippedCapture& skipped = captures_.skipped[0];
  EXPECT_EQ(skipped.trace_id, trace_of(210));
  EXPECT_EQ(skipped.trigger, CaptureTrigger::kError);
  EXPECT_EQ(skipped.reason, SkipReason::kRate);
  EXPECT_EQ(skipped.service, "shop");
  EXPECT_EQ(skipped.pid, static_cast<uint32_t>(::getpid()));
  EXPECT_EQ(skipped.operation, "work");
  EXPECT_FALSE(skipped.span_id.is_zero());
  EXPECT_GT(skipped.skipped_unix_nano, 0u);
}

TEST_F(CaptureServiceTest, WhatIsLostOnItsWayIsReported) {
  begin_with_program();
  finish_span(200, now_monotonic_nano() - 1 * kMilli, 2);
  finish_span(210, now_monotonic_nano() - 1 * kMilli, 2);
  ASSERT_TRUE(until_captures(2));
  captures_.fates[0](CaptureFate::kDurable);
  captures_.fates[1](CaptureFate::kNoRoom);
  ASSERT_TRUE(until([&] { return !captures_.skipped.empty(); }));
  ASSERT_EQ(captures_.skipped.size(), 1u);
  EXPECT_EQ(captures_.skipped[0].trace_id, captures_.captures[1].begin.trace_id);
  EXPECT_EQ(captures_.skipped[0].reason, SkipReason::kLost);
}

TEST_F(CaptureServiceTest, WhatIsNotHeldForAnotherNodeIsReportedWhenItIsAskedFor) {
  capture_options_.provisional.holds = {0.001, 0};
  capture_options_.limits.rates[CaptureTrigger::kError] = {0.001, 0};
  begin_with_program();
  finish_span(70, now_monotonic_nano() - 20 * kMilli);
  ASSERT_TRUE(until([&] { return outbox_.stored.contains(70); }));
  CaptureRequest request{.trigger = CaptureTrigger::kRemote, .trace_id = trace_of(70), .hold_nano = 60'000'000'000};
  EXPECT_NE(ask(request).skipped, "");
  finish_span(80, now_monotonic_nano() - 1 * kMilli, 2);
  ASSERT_TRUE(until([&] { return !captures_.skipped.empty(); }));
  EXPECT_EQ(captures_.skipped[0].trace_id, trace_of(80)) << "of what came after it";
  request.hold_nano = 0;
  ask(request);
  ASSERT_TRUE(until([&] { return captures_.skipped.size() > 1; }));
  EXPECT_EQ(captures_.skipped[1].trace_id, trace_of(70));
  EXPECT_EQ(captures_.skipped[1].trigger, CaptureTrigger::kRemote);
  EXPECT_EQ(captures_.skipped[1].reason, SkipReason::kRate);
}

TEST_F(CaptureServiceTest, RequestsByTraceFindItsProcesses) {
  begin_with_program();
  uint64_t start = now_monotonic_nano() - 20 * kMilli;
  finish_span(70, start);
  ASSERT_TRUE(until([&] { return outbox_.stored.contains(70); }));
  CaptureAnswer answer = ask({.trigger = CaptureTrigger::kRemote, .trace_id = trace_of(70)});
  ASSERT_EQ(answer.capture_ids.size(), 1u) << answer.skipped;
  EXPECT_EQ(captures_.captures[0].begin.trigger, CaptureTrigger::kRemote);
  EXPECT_EQ(captures_.captures[0].begin.trace_id, trace_of(70));
  EXPECT_LE(captures_.content(0).begin_nano, start);
  pool_.begin_span(3, 500, "open", now_monotonic_nano());
  answer = ask({.trigger = CaptureTrigger::kRemote, .trace_id = trace_of(500)});
  EXPECT_EQ(answer.capture_ids.size(), 1u) << answer.skipped;
  const uint64_t asked = now_unix_nano();
  const CaptureRequest again{.trigger = CaptureTrigger::kRemote, .trace_id = trace_of(500)};
  EXPECT_TRUE(until([&] { return !ask(again).capture_ids.empty(); })) << "what it did since then";
  answer = ask({.trigger = CaptureTrigger::kRemote, .trace_id = trace_of(500), .end_unix_nano = asked});
  EXPECT_TRUE(answer.capture_ids.empty()) << "once";
  EXPECT_TRUE(ask({.trace_id = trace_of(900)}).capture_ids.empty());
}

TEST_F(CaptureServiceTest, WhatAnotherNodeMayWantIsHeldAndSentWhenItIsWanted) {
  begin_with_program();
  Gauge& held = gauge("fathom_agent_held_capture_bytes", "");
  held.set(0);
  finish_span(70, begun_nano_);
  ASSERT_TRUE(until([&] { return outbox_.stored.contains(70); }));
  CaptureRequest request{.trigger = CaptureTrigger::kRemote, .trace_id = trace_of(70), .hold_nano = 60'000'000'000};
  captures_.now = {500, 400, 0};
  CaptureAnswer answer = ask(request);
  EXPECT_TRUE(answer.capture_ids.empty());
  EXPECT_EQ(answer.skipped, "");
  ASSERT_TRUE(until([&] { return held.value() > 0; }));
  EXPECT_NE(ask(request).skipped, "") << "it is held already";
  EXPECT_TRUE(captures_.captures.empty());
  write_event(1, "later");
  captures_.now = {5000, 4000, 0};
  request.hold_nano = 0;
  answer = ask(request);
  ASSERT_EQ(answer.capture_ids.size(), 1u) << answer.skipped;
  ASSERT_EQ(captures_.captures.size(), 1u);
  EXPECT_EQ(captures_.captures[0].begin.id, answer.capture_ids[0]);
  EXPECT_EQ(captures_.captures[0].begin.trigger, CaptureTrigger::kRemote);
  EXPECT_EQ(captures_.texts(0), (std::vector<std::string>{"before"})) << "as it was when it was held";
  EXPECT_EQ(captures_.captures[0].made.real_nano, 500u) << "its times are of that clock";
  EXPECT_TRUE(until([&] { return held.value() == 0; }));
}

TEST_F(CaptureServiceTest, AWindowThatLiesAheadIsWaitedForAndOneAtATime) {
  begin_with_program();
  CaptureRequest request{.request_id = 1, .pid = static_cast<uint32_t>(::getpid())};
  request.start_unix_nano = now_unix_nano();
  request.end_unix_nano = request.start_unix_nano + 1500 * kMilli;
  std::optional<CaptureAnswer> first;
  service_->capture(request, [&](CaptureAnswer given) { first = std::move(given); });
  CaptureAnswer second = ask({.request_id = 2, .pid = request.pid});
  EXPECT_TRUE(second.capture_ids.empty());
  EXPECT_NE(second.skipped.find("another request"), std::string::npos);
  EXPECT_FALSE(first);
  write_event(1, "meanwhile");
  ASSERT_TRUE(until([&] { return first.has_value(); }));
  ASSERT_EQ(first->capture_ids.size(), 1u) << first->skipped;
  std::vector<std::string> texts = captures_.texts(0);
  EXPECT_TRUE(std::count(texts.begin(), texts.end(), "meanwhile"));
  EXPECT_EQ(ask(request).capture_ids.size(), 1u) << "and again when it is made";
}

class TracepointRequestsTest : public CaptureServiceTest {
 protected:
  // The answer gathers in answer_.
  void ask(TracepointRequest request) {
    answer_.reset();
    service_->tracepoints(std::move(request), [this](TracepointAnswer given) {
      ASSERT_FALSE(answer_) << "twice";
      answer_ = std::move(given);
    });
  }
  // What the one tracepoint of the one program is said to be.
  std::optional<bool> said() const {
    if (!answer_ || answer_->programs.size() != 1 || answer_->programs[0].tracepoints.size() != 1) return std::nullopt;
    return answer_->programs[0].tracepoints[0].on;
  }

  std::optional<TracepointAnswer> answer_;
};

TEST_F(TracepointRequestsTest, AListIsAnsweredAtOnce) {
  begin_with_program();
  for (const char* pattern : {"note", "no*", "n?te"}) {
    ask({.request_id = 3, .patterns = {"other", pattern}});
    ASSERT_EQ(said(), false) << pattern;
    EXPECT_EQ(answer_->request_id, 3u);
    EXPECT_EQ(answer_->programs[0].service, "shop");
    EXPECT_EQ(answer_->programs[0].tracepoints[0].name, "note");
  }
  ask({.patterns = {"n?ote"}});
  ASSERT_EQ(answer_->programs.size(), 1u);
  EXPECT_TRUE(answer_->programs[0].tracepoints.empty());
  ask({.service = "another"});
  EXPECT_TRUE(answer_->programs.empty());
}

TEST_F(TracepointRequestsTest, ASwitchIsAnsweredWhenTheProgramHasDoneIt) {
  begin_with_program();
  ask({.request_id = 4, .action = TracepointAction::kEnable, .patterns = {"n?te"}, .service = "shop"});
  std::optional<std::string> words;
  ASSERT_TRUE(until([&] { return (words = client_->tracepoints()).has_value(); }));
  EXPECT_EQ(words, "n?te");
  EXPECT_FALSE(answer_) << "it has not switched yet";
  detail_.switch_tracepoint(note_, true);
  ASSERT_TRUE(until([&] { return answer_.has_value(); }));
  EXPECT_EQ(answer_->request_id, 4u);
  EXPECT_EQ(said(), true);
}

TEST_F(TracepointRequestsTest, OfAProgramThatDoesNotSwitchItIsSaidHowItIs) {
  begin_with_program();
  detail_.switch_tracepoint(note_, true);
  ask({.action = TracepointAction::kDisable, .patterns = {"*"}});
  ASSERT_TRUE(until([&] { return answer_.has_value(); }));
  EXPECT_EQ(answer_->failure, "");
  EXPECT_EQ(said(), true);
}

TEST_F(TracepointRequestsTest, NobodyIsWaitedForWhereNothingFits) {
  begin_with_program();
  ask({.action = TracepointAction::kEnable, .patterns = {"another"}});
  ASSERT_TRUE(until([&] { return answer_.has_value(); }));
  EXPECT_EQ(said(), std::nullopt);
  ask({.action = TracepointAction::kEnable, .patterns = {"no thing"}});
  ASSERT_TRUE(answer_);
  EXPECT_NE(answer_->failure, "");
}

}  // namespace
}  // namespace fathom::agent
