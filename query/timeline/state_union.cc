#include "query/timeline/state_union.h"

#include <algorithm>

namespace fathom::query {

namespace {

bool is_adjacent(const StateInterval& before, const StateInterval& state) {
  return before.end_nano + kSameMomentNano >= state.begin_nano;
}

bool is_same_state(const StateInterval& before, const StateInterval& state) {
  return before.state == state.state || (state.state == ThreadState::kBlocked && is_blocked(before.state));
}

bool goes_on(const StateInterval& before, const StateInterval& state) {
  return is_same_state(before, state) && state.start == nullptr && is_adjacent(before, state);
}

void extend(StateInterval& before, const StateInterval& state) {
  before.end_nano = std::max(before.end_nano, state.end_nano);
  if (before.waker == nullptr) before.waker = state.waker;
}

bool is_silent(const StateInterval& state) {
  return state.state == ThreadState::kUnknown && state.silence != Silence::kNone;
}

bool is_known(const StateInterval& state) {
  return state.state != ThreadState::kUnknown && state.silence == Silence::kNone;
}

// Adjacent silent windows, [first, end) of all states.
class SilentRun {
 public:
  SilentRun(std::vector<StateInterval>& states, size_t first) : states_(states), first_(first), end_(first + 1) {
    while (end_ < states_.size() && is_silent(states_[end_]) && is_adjacent(states_[end_ - 1], states_[end_])) ++end_;
  }

  size_t end() const { return end_; }

  void fill() {
    const StateInterval *before = state_before(), *after = state_after();
    if (before == nullptr && after == nullptr) return;
    if (before != nullptr && after != nullptr && !is_same_state(*before, *after)) return;
    const StateInterval known = before != nullptr ? *before : *after;
    for (size_t i = first_; i < end_; ++i) set(states_[i], known);
  }

 private:
  const StateInterval* state_before() const {
    if (first_ == 0 || !is_adjacent(states_[first_ - 1], states_[first_])) return nullptr;
    return is_known(states_[first_ - 1]) ? &states_[first_ - 1] : nullptr;
  }

  const StateInterval* state_after() const {
    if (end_ == states_.size() || !is_adjacent(states_[end_ - 1], states_[end_])) return nullptr;
    const StateInterval& after = states_[end_];
    const bool counts = after.start == nullptr && after.state != ThreadState::kRunnable;
    return counts && is_known(after) ? &after : nullptr;
  }

  static void set(StateInterval& silent, const StateInterval& known) {
    silent.state = known.state;
    silent.guessed = known.guessed;
    silent.cause = known.cause;
    silent.cpu = known.cpu;
  }

  std::vector<StateInterval>& states_;
  const size_t first_;
  size_t end_;
};

void fill_silent_runs(std::vector<StateInterval>& states) {
  for (size_t at = 0; at < states.size();) {
    if (!is_silent(states[at])) {
      ++at;
      continue;
    }
    SilentRun run(states, at);
    run.fill();
    at = run.end();
  }
}

}  // namespace

void join_states(std::vector<StateInterval>& states) {
  std::ranges::stable_sort(states, {}, &StateInterval::begin_nano);
  fill_silent_runs(states);
  std::erase_if(states, [](const auto& state) { return is_silent(state) && state.silence == Silence::kNoThread; });
  size_t kept = 0;
  for (const StateInterval& state : states) {
    const bool joins = kept > 0 && goes_on(states[kept - 1], state);
    if (joins) extend(states[kept - 1], state);
    if (!joins) states[kept++] = state;
  }
  states.resize(kept);
}

}  // namespace fathom::query
