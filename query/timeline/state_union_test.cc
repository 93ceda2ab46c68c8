// How states of one thread, from several captures, are joined.
#include "query/timeline/state_union.h"

#include <gtest/gtest.h>

#include "query/testing/sample_timeline.h"

namespace fathom::query {
namespace {

using testing::kMilli;

const capture::KernelEvent kStart;
const capture::KernelEvent kWaker;

StateInterval state_of(ThreadState state, uint64_t begin_milli, uint64_t end_milli) {
  return {.state = state, .begin_nano = begin_milli * kMilli, .end_nano = end_milli * kMilli};
}
// Its begin is in a capture.
StateInterval begun(ThreadState state, uint64_t begin_milli, uint64_t end_milli) {
  StateInterval begun = state_of(state, begin_milli, end_milli);
  begun.start = &kStart;
  return begun;
}
StateInterval guess(ThreadState state, uint64_t begin_milli, uint64_t end_milli) {
  StateInterval guess = state_of(state, begin_milli, end_milli);
  guess.guessed = true;
  guess.waker = &kWaker;
  return guess;
}
StateInterval silent(uint64_t begin_milli, uint64_t end_milli, Silence silence = Silence::kNoEvent) {
  StateInterval silent = state_of(ThreadState::kUnknown, begin_milli, end_milli);
  silent.guessed = true;
  silent.silence = silence;
  return silent;
}

std::vector<StateInterval> joined(std::vector<StateInterval> states) {
  join_states(states);
  return states;
}

void expect_one(const std::vector<StateInterval>& states, ThreadState state, uint64_t begin_milli, uint64_t end_milli) {
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].state, state);
  EXPECT_EQ(states[0].begin_nano, begin_milli * kMilli);
  EXPECT_EQ(states[0].end_nano, end_milli * kMilli);
}

TEST(StateUnion, ASilentWindowContinuesTheStateBeforeIt) {
  const auto states = joined({begun(ThreadState::kSleeping, 1, 10), silent(10, 20), silent(20, 30, Silence::kNoThread),
                              guess(ThreadState::kBlocked, 30, 40)});
  expect_one(states, ThreadState::kSleeping, 1, 40);
  EXPECT_FALSE(states[0].guessed);
  EXPECT_EQ(states[0].waker, &kWaker);
}

TEST(StateUnion, ASilentWindowBeforeAWakeUpIsTheSameWait) {
  const auto states = joined({silent(0, 10), guess(ThreadState::kBlocked, 10, 40)});
  expect_one(states, ThreadState::kBlocked, 0, 40);
  EXPECT_TRUE(states[0].guessed);
  EXPECT_EQ(states[0].waker, &kWaker);
}

TEST(StateUnion, ARunningThreadWithoutEventsKeepsRunning) {
  StateInterval runs = begun(ThreadState::kRunning, 1, 10);
  runs.cpu = 3;
  const auto states = joined({runs, silent(10, 20)});
  expect_one(states, ThreadState::kRunning, 1, 20);
  EXPECT_EQ(states[0].cpu, 3);
}

TEST(StateUnion, SilenceAfterAGapIsUnknown) {
  const auto states = joined({begun(ThreadState::kSleeping, 1, 10), silent(11, 20)});
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[1].state, ThreadState::kUnknown);
}

TEST(StateUnion, SilenceAfterAnUnknownStateBelongsToTheWaitAfterIt) {
  const auto states =
      joined({state_of(ThreadState::kUnknown, 0, 10), silent(10, 20), guess(ThreadState::kBlocked, 20, 30)});
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[0].state, ThreadState::kUnknown);
  EXPECT_EQ(states[1].begin_nano, 10 * kMilli);
}

TEST(StateUnion, SilenceBetweenContradictoryStatesIsUnknown) {
  const auto states =
      joined({begun(ThreadState::kSleeping, 1, 10), silent(10, 20), guess(ThreadState::kRunning, 20, 30)});
  ASSERT_EQ(states.size(), 3u);
  EXPECT_EQ(states[1].state, ThreadState::kUnknown);
}

// The wake-up may be the missing event.
TEST(StateUnion, AGuessedRunnableDoesNotReachIntoASilentWindow) {
  const auto states = joined({silent(0, 10), guess(ThreadState::kRunnable, 10, 11)});
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[0].state, ThreadState::kUnknown);
}

TEST(StateUnion, SilenceBeforeTheThreadWasCreatedIsNoState) {
  const auto states = joined({silent(0, 10, Silence::kNoThread), begun(ThreadState::kRunnable, 12, 13)});
  expect_one(states, ThreadState::kRunnable, 12, 13);
}

TEST(StateUnion, AStateThatOnlyTheProgramsEventsShowDoesNotContinue) {
  StateInterval runs = guess(ThreadState::kRunning, 0, 10);
  runs.silence = Silence::kNoEvent;
  const auto states = joined({runs, silent(10, 20)});
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[1].state, ThreadState::kUnknown);
}

}  // namespace
}  // namespace fathom::query
