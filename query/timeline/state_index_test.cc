#include "query/timeline/state_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace fathom::query {
namespace {

// What the index must say, by looking at every state.
StateTotals by_hand(const std::vector<StateInterval>& states, uint64_t begin_nano, uint64_t end_nano) {
  StateTotals totals;
  uint64_t longest = 0, told_nano = 0;
  for (StateInterval state : states) {
    state.begin_nano = std::max(state.begin_nano, told_nano);
    told_nano = std::max(told_nano, state.end_nano);
    state.begin_nano = std::max(state.begin_nano, begin_nano);
    state.end_nano = std::min(state.end_nano, end_nano);
    if (state.end_nano <= state.begin_nano) continue;
    totals.nano[static_cast<size_t>(state.state)] += state.duration_nano();
    const bool guessed = state.guessed && state.state != ThreadState::kUnknown;
    if (guessed) totals.guessed_nano[static_cast<size_t>(state.state)] += state.duration_nano();
    if (!is_wait(state.state) || state.duration_nano() <= longest) continue;
    longest = state.duration_nano();
    totals.longest_wait = state;
  }
  return totals;
}

std::vector<StateInterval> some_states(std::mt19937_64& random, size_t count, bool turned_back) {
  std::vector<StateInterval> states;
  uint64_t at = random() % 50;
  for (size_t i = 0; i < count; ++i) {
    uint64_t begin = at, end = at + 1 + random() % 20;
    auto kind = static_cast<ThreadState>(random() % kThreadStates);
    states.push_back({.state = kind,
                      .guessed = random() % 4 == 0,
                      .begin_nano = begin,
                      .end_nano = end,
                      .cpu = static_cast<uint16_t>(i)});
    at = end + (random() % 4 == 0 ? random() % 30 : 0);
    if (turned_back && random() % 8 == 0) at -= std::min<uint64_t>(at, random() % 60);
  }
  return states;
}

void expect_equal(const StateTotals& got, const StateTotals& wanted) {
  EXPECT_EQ(got.nano, wanted.nano);
  EXPECT_EQ(got.guessed_nano, wanted.guessed_nano);
  ASSERT_EQ(got.longest_wait.has_value(), wanted.longest_wait.has_value());
  if (!got.longest_wait) return;
  EXPECT_EQ(got.longest_wait->begin_nano, wanted.longest_wait->begin_nano);
  EXPECT_EQ(got.longest_wait->end_nano, wanted.longest_wait->end_nano);
  EXPECT_EQ(got.longest_wait->cpu, wanted.longest_wait->cpu);
}

TEST(StateIndex, SaysWhatALookAtEveryStateSays) {
  std::mt19937_64 random(20261122);
  for (size_t round = 0; round < 400; ++round) {
    auto states = some_states(random, round < 100 ? round : random() % 1000, round % 2 == 1);
    StateIndex index(states);
    uint64_t most = 1;
    for (const StateInterval& state : states) most = std::max(most, state.end_nano + 20);
    for (int asked = 0; asked < 50; ++asked) {
      uint64_t begin = random() % most, end = begin + random() % (asked % 2 == 0 ? most : 40);
      expect_equal(index.totals(begin, end), by_hand(states, begin, end));
      if (::testing::Test::HasFailure()) FAIL() << "round " << round << ": [" << begin << ", " << end << ")";
    }
  }
}

TEST(StateIndex, OfNothingItSaysNothing) {
  StateIndex index({});
  EXPECT_EQ(index.totals(0, UINT64_MAX).nano, StateTotals().nano);
  std::vector<StateInterval> states{{.state = ThreadState::kSleeping, .begin_nano = 10, .end_nano = 20}};
  EXPECT_FALSE(StateIndex(states).totals(15, 15).longest_wait);
  EXPECT_FALSE(StateIndex(states).totals(15, 12).longest_wait);
  EXPECT_FALSE(StateIndex(states).totals(20, 30).longest_wait);
}

}  // namespace
}  // namespace fathom::query
