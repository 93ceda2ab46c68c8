// What is told of a thread's system calls and states where the capture has only a part of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "capture/encode.h"
#include "query/testing/sample_timeline.h"
#include "query/timeline/syscall_names.h"
#include "query/timeline/timeline_query.h"

namespace fathom::query {
namespace {

using capture::KernelEvent;
using capture::KernelEventKind;
using testing::kMilli;
using testing::kSampleStart;
using testing::sample_capture;
using testing::sample_capture_info;
using testing::sample_monotonic;
using testing::sample_trace_id;
using testing::SampleTimeline;

int32_t number_of(std::string_view name) {
  int32_t number = 0;
  while (number < 1'000 && syscall_name(number) != name) ++number;
  return number;
}

class ThreadItemsTest : public ::testing::Test {
 protected:
  Timeline built(const capture::Capture& content, bool all) {
    store::CaptureInfo info = sample_capture_info(4);
    info.trace_id = sample_trace_id(7);
    sample_.add_capture(info, capture::encode(content));
    store::QueryBudget budget;
    TimelineQuery query{.subject = {.capture = info.id}, .all = all};
    auto timeline = build_timeline(sample_.stores(), query, budget);
    EXPECT_TRUE(timeline.ok()) << timeline.error().message;
    return timeline ? *std::move(timeline) : Timeline{};
  }

  // A capture of one thread, of which the kernel said this, in a window that begins at 0.
  Timeline told(std::vector<KernelEvent> events) {
    capture::Capture content = sample_capture();
    content.begin_nano = content.kernel_complete_from_nano = sample_monotonic(0);
    content.tracepoints.clear();
    content.threads = {{.tid = 4712, .kernel_events = std::move(events)}};
    return built(content, true);
  }

  SampleTimeline sample_;
};

KernelEvent event_after(KernelEventKind kind, uint64_t micro) {
  return {.kind = kind, .monotonic_nano = sample_monotonic(micro)};
}
KernelEvent left_after(uint64_t micro) {
  KernelEvent event = event_after(KernelEventKind::kSwitchedOut, micro);
  event.reason = capture::SwitchReason::kSleeps;
  return event;
}
KernelEvent unknown_begin(std::string_view name, uint64_t end_micro, int64_t result) {
  return {.kind = KernelEventKind::kSyscall,
          .end_nano = sample_monotonic(end_micro),
          .syscall = number_of(name),
          .result = result};
}

TEST_F(ThreadItemsTest, NothingIsToldOfAThreadFromBeforeItWasMade) {
  Timeline timeline =
      told({unknown_begin("clone3", 100'100, 0), unknown_begin("read", 200'000, 3),
            event_after(KernelEventKind::kThreadStart, 100'000), event_after(KernelEventKind::kSwitchedIn, 100'050)});
  const TimelineThread& thread = timeline.processes.at(0).threads.at(0);
  ASSERT_EQ(thread.calls.size(), 1u) << "the call that made it is another thread's";
  EXPECT_EQ(thread.calls[0].begin_unix_nano, kSampleStart + 100 * kMilli);
  EXPECT_FALSE(thread.calls[0].begin_known);
  EXPECT_EQ(thread.begin_unix_nano, kSampleStart + 100 * kMilli);
}

TEST_F(ThreadItemsTest, ACallThatBeganBeforeTheWindowIsToldFromItsBegin) {
  Timeline timeline = told({unknown_begin("clone3", 100'100, 0)});
  const TimelineThread& thread = timeline.processes.at(0).threads.at(0);
  ASSERT_EQ(thread.calls.size(), 1u) << "nothing says that this was the thread's birth";
  EXPECT_EQ(thread.calls[0].begin_unix_nano, kSampleStart);
  EXPECT_FALSE(thread.calls[0].begin_known);
}

// The recorder of a capture with system calls starts after the window's begin.
TEST_F(ThreadItemsTest, ACallThatBeganBeforeTheRecordingIsToldFromItsBegin) {
  capture::Capture content = sample_capture();
  content.begin_nano = sample_monotonic(0);
  content.kernel_complete_from_nano = sample_monotonic(100'000);
  content.threads = {{.tid = 4712, .kernel_events = {unknown_begin("read", 110'000, 0)}}};
  const Timeline timeline = built(content, true);
  const TimelineCall& call = timeline.processes.at(0).threads.at(0).calls.at(0);
  EXPECT_EQ(call.begin_unix_nano, kSampleStart + 100 * kMilli);
  EXPECT_EQ(call.end_unix_nano, kSampleStart + 110 * kMilli);
  EXPECT_FALSE(call.begin_known);
}

// Of spans of 812 and 782 ms, the kernel's recorder saw the time from 700 ms on.
TEST_F(ThreadItemsTest, WhatNoCaptureSawOfASpanIsUnknown) {
  capture::Capture content = sample_capture();
  const uint64_t from_nano = content.kernel_complete_from_nano = sample_monotonic(700'000);
  for (auto& thread : content.threads) {
    std::erase_if(thread.kernel_events,
                  [&](const KernelEvent& event) { return std::max(event.monotonic_nano, event.end_nano) < from_nano; });
  }
  store::CaptureInfo info = sample_capture_info(4);
  sample_.add_capture(info, capture::encode(content));
  store::QueryBudget budget;
  auto timeline =
      build_timeline(sample_.stores(), {.subject = {.trace = sample_trace_id(1), .capture = info.id}}, budget);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  const TimelineThread& thread = timeline->processes.at(0).threads.at(0);
  ASSERT_EQ(thread.spans.size(), 2u);
  for (const TimelineSpan& span : thread.spans) {
    const auto& nano = span.totals.nano;
    EXPECT_EQ(span.totals.of(ThreadState::kUnknown), kSampleStart + 700 * kMilli - span.begin_unix_nano);
    EXPECT_EQ(std::accumulate(nano.begin(), nano.end(), uint64_t{0}), span.end_unix_nano - span.begin_unix_nano);
  }
  EXPECT_EQ(thread.totals.of(ThreadState::kUnknown), 700 * kMilli);
  ASSERT_FALSE(thread.calls.empty());
  EXPECT_EQ(thread.calls[0].totals.of(ThreadState::kUnknown),
            kSampleStart + 700 * kMilli - thread.calls[0].begin_unix_nano);
}

TEST_F(ThreadItemsTest, WhereNothingOfTheKernelWasRecordedThereAreNoTotals) {
  capture::Capture content = sample_capture();
  content.kernel_complete_from_nano = 0;
  for (auto& thread : content.threads) thread.kernel_events.clear();
  Timeline timeline = built(content, true);
  for (uint64_t nano : timeline.processes.at(0).threads.at(0).totals.nano) EXPECT_EQ(nano, 0u);
}

TEST_F(ThreadItemsTest, TotalsSayHowMuchOfThemWasGuessed) {
  Timeline timeline = told({left_after(320'000), event_after(KernelEventKind::kWoken, 500'000),
                            event_after(KernelEventKind::kSwitchedIn, 500'000), left_after(600'000)});
  const StateTotals& totals = timeline.processes.at(0).threads.at(0).totals;
  EXPECT_EQ(totals.of(ThreadState::kRunning), 420 * kMilli);
  EXPECT_EQ(totals.guessed_of(ThreadState::kRunning), 320 * kMilli) << "nothing says when it came";
  EXPECT_EQ(totals.guessed_of(ThreadState::kSleeping), 0u);
  store::QueryBudget budget;
  auto json = timeline_json(timeline, budget);
  ASSERT_TRUE(json.ok());
  EXPECT_NE(json->find(R"("running_guessed_nano":320000000,"guessed_nano":320000000})"), std::string::npos) << *json;
}

TEST_F(ThreadItemsTest, NothingIsCalledPreemptedWhereAQuotaMayBeTheReason) {
  auto leaves = [](uint64_t micro, int32_t next) {
    KernelEvent event = event_after(KernelEventKind::kSwitchedOut, micro);
    event.other_pid = event.other_tid = next;
    return event;
  };
  Timeline timeline = told({event_after(KernelEventKind::kSwitchedIn, 0), leaves(100'000, 99),
                            event_after(KernelEventKind::kSwitchedIn, 200'000), leaves(300'000, 0),
                            event_after(KernelEventKind::kSwitchedIn, 400'000)});
  store::QueryBudget budget;
  auto json = timeline_json(timeline, budget);
  ASSERT_TRUE(json.ok());
  EXPECT_NE(json->find(R"("offset_nano":100000000,"duration_nano":100000000,"throttled":"possible")"),
            std::string::npos)
      << *json;
  EXPECT_NE(json->find(R"("offset_nano":300000000,"duration_nano":100000000,"throttled":"likely")"), std::string::npos)
      << *json;
  EXPECT_EQ(json->find("preempted"), std::string::npos);
}

// 100 times 5 ms, and once 6.27 ms.
TEST_F(ThreadItemsTest, ManyShortWaitsAreAddedUp) {
  std::vector<KernelEvent> events{event_after(KernelEventKind::kSwitchedIn, 0)};
  uint64_t at_micro = 1'000;
  for (int i = 0; i < 101; ++i) {
    const uint64_t begin_micro = at_micro;
    events.push_back(left_after(at_micro));
    at_micro += i == 7 ? 6'270 : 5'000;
    events.push_back(event_after(KernelEventKind::kWoken, at_micro));
    events.push_back(event_after(KernelEventKind::kSwitchedIn, at_micro));
    events.push_back({.kind = KernelEventKind::kSyscall,
                      .monotonic_nano = sample_monotonic(begin_micro - 1),
                      .end_nano = sample_monotonic(at_micro + 1),
                      .syscall = number_of("clock_nanosleep")});
    at_micro += 1'000;
  }
  std::ranges::stable_sort(events, {}, &KernelEvent::monotonic_nano);
  Timeline timeline = told(std::move(events));
  const WaitSums& waits = timeline.processes.at(0).threads.at(0).waits;
  ASSERT_EQ(waits.sums.size(), 1u);
  EXPECT_EQ(waits.sums[0].count, 101u);
  EXPECT_EQ(waits.sums[0].total_nano, 506'270'000u);
  EXPECT_EQ(waits.sums[0].longest.duration_nano(), 6'270'000u);
  store::QueryBudget budget;
  auto json = timeline_json(timeline, budget);
  ASSERT_TRUE(json.ok());
  EXPECT_NE(json->find(R"("in":"clock_nanosleep","waker":{"interrupt":true},"count":101,"total_nano":506270000,)"
                       R"("longest_nano":6270000,)"),
            std::string::npos)
      << *json;
  EXPECT_TRUE(timeline.processes[0].threads[0].calls.at(0).waits.sums.empty()) << "one wait is its longest";
}

TEST_F(ThreadItemsTest, ACallThatWaitsSeveralTimesSaysHowOften) {
  std::vector<KernelEvent> events{event_after(KernelEventKind::kSwitchedIn, 0)};
  events.push_back({.kind = KernelEventKind::kSyscall,
                    .monotonic_nano = sample_monotonic(10'000),
                    .end_nano = sample_monotonic(90'000),
                    .syscall = number_of("fsync")});
  for (const uint64_t begin_micro : std::vector<uint64_t>{20'000, 40'000, 60'000}) {
    events.push_back(left_after(begin_micro));
    events.push_back(event_after(KernelEventKind::kWoken, begin_micro + 10'000));
    events.push_back(event_after(KernelEventKind::kSwitchedIn, begin_micro + 10'000));
  }
  Timeline timeline = told(std::move(events));
  const TimelineCall& call = timeline.processes.at(0).threads.at(0).calls.at(0);
  ASSERT_EQ(call.waits.sums.size(), 1u);
  EXPECT_EQ(call.waits.sums[0].count, 3u);
  EXPECT_EQ(call.waits.sums[0].total_nano, 30 * kMilli);
  EXPECT_EQ(call.waits.sums[0].in, "") << "it is the call itself";
}

TEST_F(ThreadItemsTest, WhatIsUnknownIsNotCalledGuessed) {
  Timeline timeline = told({});
  const StateTotals& totals = timeline.processes.at(0).threads.at(0).totals;
  EXPECT_GT(totals.of(ThreadState::kUnknown), 0u);
  EXPECT_EQ(totals.guessed_nano, StateNano{});
}

TEST_F(ThreadItemsTest, ASignalThatEndedTheProcessIsNamed) {
  KernelEvent exit = event_after(KernelEventKind::kThreadExit, 200'000);
  exit.result = 11;
  Timeline timeline = told({event_after(KernelEventKind::kSwitchedIn, 50'000), exit});
  store::QueryBudget budget;
  auto json = timeline_json(timeline, budget);
  ASSERT_TRUE(json.ok());
  EXPECT_NE(json->find(R"("exit_signal":"SIGSEGV")"), std::string::npos) << *json;
}

TEST_F(ThreadItemsTest, AWakerWithoutANumberIsAnInterrupt) {
  KernelEvent woken = event_after(KernelEventKind::kWoken, 200'000);
  woken.other_name = "cc1plus";
  KernelEvent again = event_after(KernelEventKind::kWoken, 400'000);
  Timeline timeline = told({event_after(KernelEventKind::kSwitchedIn, 50'000), left_after(100'000), woken,
                            event_after(KernelEventKind::kSwitchedIn, 200'100), left_after(300'000), again});
  store::QueryBudget budget;
  auto json = timeline_json(timeline, budget);
  ASSERT_TRUE(json.ok());
  EXPECT_NE(json->find(R"("waker":{"interrupt":true,"name":"cc1plus"})"), std::string::npos) << *json;
  EXPECT_NE(json->find(R"("waker":{"interrupt":true})"), std::string::npos) << *json;
}

TEST(SyscallNames, OnlyAFutexWhoseArgumentsAreKnownHasAnOperation) {
  KernelEvent call{.kind = KernelEventKind::kSyscall, .monotonic_nano = 1, .syscall = number_of("futex")};
  call.arguments = {0x7f00'0000'1000, 129};
  EXPECT_EQ(call_operation(call), "FUTEX_WAKE_PRIVATE");
  call.monotonic_nano = 0;
  EXPECT_EQ(call_operation(call), "") << "with the begin the arguments are missing";
  call.monotonic_nano = 1;
  call.syscall = number_of("read");
  EXPECT_EQ(call_operation(call), "");
}

TEST(SyscallNames, NoErrorIsTheKernelsOwn) {
  EXPECT_EQ(error_name(-11), "EAGAIN");
  for (int64_t restart : {512, 513, 514, 516}) EXPECT_EQ(error_name(-restart), "interrupted") << restart;
  EXPECT_EQ(error_name(1), "");
}

}  // namespace
}  // namespace fathom::query
