#include "query/timeline/processor_use.h"

#include <gtest/gtest.h>

namespace fathom::query {
namespace {

using capture::KernelEvent;
using capture::KernelEventKind;

constexpr uint64_t kNanosPerMicro = 1'000;
constexpr int32_t kCapturedPid = 4711;
constexpr int32_t kStrangePid = 99;  // a process without captures

KernelEvent turn(KernelEventKind kind, uint64_t micro, int32_t other_pid, uint16_t cpu = 1) {
  return {.kind = kind,
          .reason = capture::SwitchReason::kPreempted,
          .cpu = cpu,
          .monotonic_nano = micro * kNanosPerMicro,
          .other_pid = other_pid,
          .other_tid = other_pid};
}
KernelEvent came_at(uint64_t micro, uint16_t cpu = 1) {
  return turn(KernelEventKind::kSwitchedIn, micro, kCapturedPid, cpu);
}
KernelEvent left_at(uint64_t micro, int32_t for_pid, uint16_t cpu = 1) {
  return turn(KernelEventKind::kSwitchedOut, micro, for_pid, cpu);
}

// The cause of the first thread's wait for a processor from 10 ms to 90 ms.
RunnableCause cause_of(int32_t for_pid, std::vector<KernelEvent> second) {
  capture::Capture content{.end_nano = 100'000 * kNanosPerMicro, .pid = static_cast<uint32_t>(kCapturedPid)};
  content.threads = {
      {.tid = 1,
       .kernel_events = {came_at(0), left_at(10'000, for_pid), came_at(90'000), left_at(95'000, kStrangePid)}},
      {.tid = 2, .kernel_events = std::move(second)}};
  store::QueryBudget budget;
  Meter meter(budget);
  ProcessorUse use(content, meter);
  std::vector<const KernelEvent*> events;
  for (const KernelEvent& event : content.threads[0].kernel_events) events.push_back(&event);
  auto states = thread_states(events, {0, content.end_nano});
  use.find_preempted(states);
  EXPECT_EQ(states.at(1).state, ThreadState::kRunnable);
  EXPECT_EQ(states.at(1).begin_nano, 10'000 * kNanosPerMicro);
  return states[1].cause;
}

TEST(ProcessorUse, AnotherThreadOfTheProcessThatRunsAllTheTimeHasPreemptedIt) {
  EXPECT_EQ(cause_of(kCapturedPid, {came_at(10'000), left_at(90'000, kCapturedPid)}), RunnableCause::kPreempted);
  EXPECT_EQ(cause_of(kCapturedPid,
                     {came_at(10'000), left_at(50'000, kStrangePid), came_at(50'020), left_at(90'000, kCapturedPid)}),
            RunnableCause::kPreempted)
      << "a thread of the kernel came in between";
  EXPECT_EQ(cause_of(kCapturedPid, {came_at(10'000)}), RunnableCause::kPreempted) << "it runs on when the window ends";
}

TEST(ProcessorUse, WhereTheProcessorDoesNotStayWithTheProcessAQuotaMayBeUsedUp) {
  EXPECT_EQ(cause_of(kCapturedPid, {came_at(10'000), left_at(20'000, kStrangePid)}),
            RunnableCause::kPreemptedOrThrottled)
      << "both may be throttled from then on";
  EXPECT_EQ(cause_of(kCapturedPid,
                     {came_at(10'000), left_at(40'000, kStrangePid), came_at(45'000), left_at(90'000, kCapturedPid)}),
            RunnableCause::kPreemptedOrThrottled);
  EXPECT_EQ(cause_of(kCapturedPid, {came_at(10'000, 2), left_at(90'000, kCapturedPid, 2)}),
            RunnableCause::kPreemptedOrThrottled)
      << "on another processor";
  EXPECT_EQ(cause_of(kCapturedPid, {}), RunnableCause::kPreemptedOrThrottled) << "its events are missing";
}

TEST(ProcessorUse, AThreadOfAnotherProcessProvesNothing) {
  EXPECT_EQ(cause_of(kStrangePid, {came_at(10'050), left_at(90'000, kCapturedPid)}),
            RunnableCause::kPreemptedOrThrottled);
}

TEST(ProcessorUse, AnIdleProcessorSuggestsAQuota) {
  EXPECT_EQ(cause_of(0, {}), RunnableCause::kThrottled);
}

TEST(ProcessorUse, TurnsAreReadOnlyForAWaitThatTheyCanExplain) {
  capture::Capture content{.end_nano = 100'000 * kNanosPerMicro, .pid = static_cast<uint32_t>(kCapturedPid)};
  content.threads = {{.tid = 1, .kernel_events = std::vector<KernelEvent>(1'000, came_at(0))}};
  store::QueryBudget budget;
  Meter meter(budget);
  ProcessorUse use(content, meter);
  const KernelEvent by_own = left_at(0, kCapturedPid), by_other = left_at(0, kStrangePid);
  std::vector<StateInterval> states(3);
  states[1] = {.state = ThreadState::kRunnable, .start = &by_own};
  states[2] = {.state = ThreadState::kRunnable, .cause = RunnableCause::kPreemptedOrThrottled, .start = &by_other};
  use.find_preempted(states);
  EXPECT_EQ(budget.spent_bytes(), 0u);
  states[0] = {.state = ThreadState::kRunnable, .cause = RunnableCause::kPreemptedOrThrottled, .start = &by_own};
  use.find_preempted(states);
  const uint64_t once = budget.spent_bytes();
  EXPECT_GT(once, 0u);
  use.find_preempted(states);
  EXPECT_EQ(budget.spent_bytes(), once);
}

TEST(ProcessorUse, WithoutACaptureNothingIsCertain) {
  std::vector<KernelEvent> own{came_at(0), left_at(10'000, kCapturedPid)};
  auto states = thread_states(std::vector<const KernelEvent*>{&own[0], &own[1]}, {0, 100'000 * kNanosPerMicro});
  ProcessorUse().find_preempted(states);
  EXPECT_EQ(states.back().cause, RunnableCause::kPreemptedOrThrottled);
}

}  // namespace
}  // namespace fathom::query
