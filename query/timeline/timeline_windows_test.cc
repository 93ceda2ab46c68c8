// Several captures of one process, whose windows meet.
#include <gtest/gtest.h>

#include <algorithm>

#include "capture/encode.h"
#include "query/testing/sample_timeline.h"
#include "query/timeline/recorded_time.h"
#include "query/timeline/timeline_query.h"

namespace fathom::query {
namespace {

using testing::kMilli;
using testing::sample_capture;
using testing::sample_capture_id;
using testing::sample_capture_info;
using testing::sample_monotonic;
using testing::sample_trace_id;
using testing::SampleTimeline;

uint64_t end_of_event(const capture::KernelEvent& event) {
  return std::max(event.monotonic_nano, event.end_nano);
}

// The part of a capture that ends at `end_nano`.
capture::Capture until(capture::Capture content, uint64_t end_nano) {
  content.end_nano = end_nano;
  for (auto& thread : content.threads) {
    std::erase_if(thread.events, [&](const auto& event) { return event.monotonic_nano > end_nano; });
    std::erase_if(thread.kernel_events, [&](const auto& event) { return end_of_event(event) > end_nano; });
  }
  return content;
}

// The part of a capture that begins at `begin_nano`.
capture::Capture since(uint64_t begin_nano, capture::Capture content) {
  content.begin_nano = content.events_complete_from_nano = content.kernel_complete_from_nano = begin_nano;
  for (auto& thread : content.threads) {
    std::erase_if(thread.events, [&](const auto& event) { return event.monotonic_nano < begin_nano; });
    std::erase_if(thread.kernel_events, [&](const auto& event) { return end_of_event(event) < begin_nano; });
  }
  return content;
}

capture::Capture without_system_calls(capture::Capture content) {
  for (auto& thread : content.threads) std::erase_if(thread.kernel_events, is_system_call);
  return content;
}

// As another recorder of the kernel's events has them, or another conversion of the program's. What happened when the
// window began stays there.
capture::Capture later_by(uint64_t nano, capture::Capture content) {
  const auto later = [&](uint64_t& at_nano) {
    if (at_nano > content.kernel_complete_from_nano) at_nano += nano;
  };
  for (auto& thread : content.threads) {
    for (auto& event : thread.events) later(event.monotonic_nano);
    for (auto& event : thread.kernel_events) {
      later(event.monotonic_nano);
      later(event.end_nano);
    }
  }
  return content;
}

class TimelineWindowsTest : public ::testing::Test {
 protected:
  Timeline built(const TimelineQuery& query) {
    store::QueryBudget budget;
    auto timeline = build_timeline(sample_.stores(), query, budget);
    EXPECT_TRUE(timeline.ok()) << timeline.error().message;
    return timeline ? *std::move(timeline) : Timeline{};
  }
  static TimelineQuery of_trace(uint64_t n = 1) { return {.subject = {.trace = sample_trace_id(n)}}; }
  // All of what these captures of one process have.
  Timeline built_of(const std::vector<capture::Capture>& captures) {
    const uint64_t trace = next_++;
    for (const capture::Capture& content : captures) {
      store::CaptureInfo info = sample_capture_info(next_++);
      info.trace_id = sample_trace_id(trace);
      sample_.add_capture(info, capture::encode(content));
    }
    TimelineQuery query = of_trace(trace);
    query.all = true;
    Timeline timeline = built(query);
    EXPECT_EQ(timeline.processes.at(0).captures.size(), captures.size());
    return timeline;
  }
  Timeline built_of_sample() { return built({.subject = {.capture = sample_capture_id(1)}, .all = true}); }
  static void expect_same_items(const Timeline& timeline, const Timeline& expected) {
    ASSERT_EQ(timeline.processes.at(0).threads.size(), 2u);
    for (size_t t = 0; t < 2; ++t) {
      const TimelineThread& thread = timeline.processes[0].threads[t];
      const TimelineThread& alone = expected.processes.at(0).threads.at(t);
      EXPECT_EQ(thread.calls.size(), alone.calls.size());
      EXPECT_EQ(thread.faults.size(), alone.faults.size());
      EXPECT_EQ(thread.events.size(), alone.events.size());
      EXPECT_EQ(thread.states.size(), alone.states.size());
    }
  }

  uint64_t next_ = 20;

  SampleTimeline sample_;
};

// Overdue, and then slow: two windows of one process.
TEST_F(TimelineWindowsTest, WhatTwoCapturesSawIsToldOnce) {
  capture::Capture earlier = sample_capture();
  earlier.end_nano = sample_monotonic(300'000);
  for (auto& thread : earlier.threads) {
    std::erase_if(thread.events, [&](const auto& event) { return event.monotonic_nano > earlier.end_nano; });
    std::erase_if(thread.kernel_events,
                  [&](const auto& event) { return std::max(event.monotonic_nano, event.end_nano) > earlier.end_nano; });
  }
  earlier.threads[0].kernel_events.push_back({.kind = capture::KernelEventKind::kSyscallUnderWay,
                                              .monotonic_nano = sample_monotonic(10'100),
                                              .end_nano = earlier.end_nano,
                                              .syscall = 202});
  std::ranges::stable_sort(earlier.threads[0].kernel_events, {}, &capture::KernelEvent::monotonic_nano);
  store::CaptureInfo info = sample_capture_info(4);
  info.trigger = CaptureTrigger::kOverdue;
  sample_.add_capture(info, capture::encode(earlier));
  const Timeline one = built({.subject = {.capture = sample_capture_id(1)}});
  const Timeline both = built(of_trace());
  ASSERT_EQ(both.processes[0].captures.size(), 2u);
  const TimelineThread& alone = one.processes[0].threads[0];
  const TimelineThread& thread = both.processes[0].threads[0];
  EXPECT_EQ(thread.events.size(), alone.events.size());
  ASSERT_EQ(thread.calls.size(), alone.calls.size());
  EXPECT_EQ(thread.calls[0].begin_unix_nano, alone.calls[0].begin_unix_nano);
  EXPECT_EQ(thread.calls[0].event->kind, capture::KernelEventKind::kSyscall);
  EXPECT_EQ(thread.totals.of(ThreadState::kSleeping), alone.totals.of(ThreadState::kSleeping));
}

// The second one sees the end of a wait only.
TEST_F(TimelineWindowsTest, AWaitAcrossTwoCapturesIsOne) {
  const Timeline one = built({.subject = {.capture = sample_capture_id(1)}, .all = true});
  const uint64_t between = sample_monotonic(300'000);
  capture::Capture later = sample_capture();
  later.begin_nano = later.kernel_complete_from_nano = between;
  for (auto& thread : later.threads) {
    std::erase_if(thread.events, [&](const auto& event) { return event.monotonic_nano < between; });
    std::erase_if(thread.kernel_events,
                  [&](const auto& event) { return std::max(event.monotonic_nano, event.end_nano) < between; });
  }
  capture::Capture earlier = sample_capture();
  earlier.end_nano = between;
  for (auto& thread : earlier.threads) {
    std::erase_if(thread.kernel_events,
                  [&](const auto& event) { return std::max(event.monotonic_nano, event.end_nano) > between; });
  }
  store::CaptureInfo info = sample_capture_info(4);
  info.trace_id = sample_trace_id(7);
  sample_.add_capture(info, capture::encode(earlier));
  info.id = sample_capture_id(5);
  info.start_unix_nano += 1;
  sample_.add_capture(info, capture::encode(later));
  TimelineQuery query = of_trace(7);
  query.all = true;
  const Timeline both = built(query);
  ASSERT_EQ(both.processes[0].captures.size(), 2u);
  const TimelineThread& alone = one.processes[0].threads[0];
  const TimelineThread& thread = both.processes[0].threads[0];
  EXPECT_EQ(thread.totals.of(ThreadState::kBlocked), 0u);
  EXPECT_EQ(thread.totals.of(ThreadState::kSleeping), alone.totals.of(ThreadState::kSleeping));
  EXPECT_EQ(thread.states.size(), alone.states.size());
}

// Nothing of the first thread happens from 200 to 500 ms: it sleeps.
class SilentWindowTest : public TimelineWindowsTest {
 protected:
  static capture::Capture silent_part() {
    capture::Capture part = until(since(sample_monotonic(200'000), sample_capture()), sample_monotonic(500'000));
    for (auto& thread : part.threads) thread.events.clear();
    return part;
  }
  TimelineThread first_thread(const capture::Capture& silent) {
    Timeline timeline = built_of({without_system_calls(until(sample_capture(), sample_monotonic(300'000))), silent,
                                  without_system_calls(since(sample_monotonic(400'000), sample_capture()))});
    return std::move(timeline.processes.at(0).threads.at(0));
  }
  void expect_no_loss(const capture::Capture& silent) {
    const Timeline alone = built_of({without_system_calls(sample_capture())});
    const TimelineThread& expected = alone.processes.at(0).threads.at(0);
    const TimelineThread thread = first_thread(silent);
    EXPECT_EQ(thread.tid, expected.tid);
    EXPECT_EQ(thread.totals.nano, expected.totals.nano);
    EXPECT_EQ(thread.states.size(), expected.states.size());
  }
};

TEST_F(SilentWindowTest, AThreadWithoutEventsGoesOnSleeping) {
  expect_no_loss(silent_part());
}

TEST_F(SilentWindowTest, AThreadThatACaptureDoesNotListGoesOnSleeping) {
  capture::Capture silent = silent_part();
  silent.threads.clear();
  expect_no_loss(silent);
}

TEST_F(SilentWindowTest, SilenceProvesNothingIfEventsWereLost) {
  capture::Capture silent = silent_part();
  silent.losses = {{"kernel_missed", 1}};
  EXPECT_EQ(first_thread(silent).totals.of(ThreadState::kUnknown), 200 * kMilli) << "from 300 to 500 ms";
}

// Windows of one process, of which the first has nothing of the kernel, or only the end of what the second has.
TEST_F(TimelineWindowsTest, WhatAnEarlierCaptureLacksALaterOneTells) {
  const Timeline one = built({.subject = {.capture = sample_capture_id(1)}, .all = true});
  for (uint64_t from_nano : {uint64_t{0}, sample_monotonic(700'000)}) {
    capture::Capture earlier = sample_capture();
    earlier.begin_nano -= kMilli;
    earlier.kernel_complete_from_nano = from_nano;
    for (auto& thread : earlier.threads) {
      std::erase_if(thread.kernel_events, [&](const auto& event) {
        return from_nano == 0 || std::max(event.monotonic_nano, event.end_nano) < from_nano;
      });
    }
    store::CaptureInfo info = sample_capture_info(from_nano == 0 ? 4 : 6);
    info.trace_id = sample_trace_id(from_nano == 0 ? 7 : 8);
    sample_.add_capture(info, capture::encode(earlier));
    info.id = sample_capture_id(from_nano == 0 ? 5 : 7);
    sample_.add_capture(info, capture::encode(sample_capture()));
    TimelineQuery query = of_trace(from_nano == 0 ? 7 : 8);
    query.all = true;
    const Timeline both = built(query);
    ASSERT_EQ(both.processes[0].captures.size(), 2u);
    for (size_t t = 0; t < 2; ++t) {
      const TimelineThread& alone = one.processes[0].threads[t];
      const TimelineThread& thread = both.processes[0].threads[t];
      EXPECT_EQ(thread.totals.nano, alone.totals.nano) << from_nano;
      EXPECT_EQ(thread.calls.size(), alone.calls.size()) << from_nano;
      EXPECT_EQ(thread.faults.size(), alone.faults.size()) << from_nano;
      EXPECT_EQ(thread.events.size(), alone.events.size()) << from_nano;
      EXPECT_EQ(thread.states.size(), alone.states.size()) << from_nano;
    }
  }
}

// A slow request, and a capture with system calls that a user requested; the kernel's recorders are two.
TEST_F(TimelineWindowsTest, SystemCallsThatOneCaptureLacksComeFromTheOther) {
  const Timeline alone = built_of_sample();
  const capture::Capture with_calls = later_by(300, sample_capture());
  for (const int64_t begin_milli : {-2, 2}) {
    capture::Capture slow = without_system_calls(sample_capture());
    slow.begin_nano += static_cast<uint64_t>(begin_milli) * kMilli;  // listed first, or last
    expect_same_items(built_of({slow, with_calls}), alone);
  }
}

TEST_F(TimelineWindowsTest, SystemCallsOfAPartOfTheTimeAreAdded) {
  const Timeline timeline = built_of(
      {without_system_calls(sample_capture()), until(later_by(300, sample_capture()), sample_monotonic(800'000))});
  const TimelineThread& thread = timeline.processes.at(0).threads.at(0);
  ASSERT_EQ(thread.calls.size(), 1u) << "the futex(), but not the read() after it";
  EXPECT_EQ(thread.calls[0].event->syscall, 202);
  EXPECT_EQ(thread.waits.sums.at(0).in, "futex");
  EXPECT_EQ(thread.states.size(), built_of_sample().processes[0].threads[0].states.size());
}

// Events before 300 ms were overwritten in the capture that begins first.
TEST_F(TimelineWindowsTest, EventsThatOneCaptureLacksComeFromTheOther) {
  capture::Capture first = sample_capture();
  first.begin_nano -= kMilli;
  first.events_complete_from_nano = sample_monotonic(300'000);
  for (auto& thread : first.threads) {
    std::erase_if(thread.events, [&](const auto& event) { return event.monotonic_nano < sample_monotonic(5'000); });
  }
  expect_same_items(built_of({first, later_by(5, sample_capture())}), built_of_sample());
}

// Neither capture has all events, and each has another part.
TEST_F(TimelineWindowsTest, EventsOfIncompleteCapturesAreListedOnce) {
  capture::Capture first = sample_capture();
  first.events_complete_from_nano = first.end_nano;
  capture::Capture second = later_by(5, first);
  first.threads[0].events.erase(first.threads[0].events.begin());
  second.threads[0].events.pop_back();
  expect_same_items(built_of({first, second}), built_of_sample());
}

// It came to a processor while the first capture looked, and just runs while only the second one does.
TEST_F(TimelineWindowsTest, WhoRunsOnIsKnownToRun) {
  capture::Capture earlier = sample_capture();
  earlier.tracepoints.clear();
  earlier.threads = {{.tid = 4712}};
  earlier.end_nano = sample_monotonic(500'000);
  capture::Capture later = earlier;
  later.end_nano = sample_monotonic(900'000);
  later.begin_nano = later.kernel_complete_from_nano = sample_monotonic(200'000);
  capture::KernelEvent came{
      .kind = capture::KernelEventKind::kSwitchedIn, .cpu = 3, .monotonic_nano = sample_monotonic(300'000)};
  earlier.threads[0].kernel_events = later.threads[0].kernel_events = {came};
  store::CaptureInfo info = sample_capture_info(4);
  info.trace_id = sample_trace_id(7);
  sample_.add_capture(info, capture::encode(earlier));
  info.id = sample_capture_id(5);
  sample_.add_capture(info, capture::encode(later));
  TimelineQuery query = of_trace(7);
  query.all = true;
  const Timeline timeline = built(query);
  const TimelineThread& thread = timeline.processes.at(0).threads.at(0);
  EXPECT_EQ(thread.totals.of(ThreadState::kUnknown), 0u);
  EXPECT_EQ(thread.totals.of(ThreadState::kRunning), 600 * kMilli);
  ASSERT_EQ(thread.states.size(), 2u) << "runnable, then running, across both";
  EXPECT_EQ(thread.states[1].interval.cpu, 3);
}

}  // namespace
}  // namespace fathom::query
