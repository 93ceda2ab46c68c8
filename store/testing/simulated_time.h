// SimulatedTime: when something happened in a simulation, and what its age can be known by since then.
#pragma once

#include <cstdint>

namespace fathom::store::testing {

struct SimulatedTime {
  uint64_t elapsed_nano = 0;   // since the simulation began
  uint64_t clock_steps = 0;    // of the wall clock until then
  uint64_t boots = 0;          // of the host until then
  uint64_t steps_at_boot = 0;  // of the wall clock until the last of these boots

  // Within one boot CLOCK_BOOTTIME shows the age. Across boots a wall clock does that was not stepped since the first
  // of them: a step of an hour or less looks like time during which the host was off.
  bool is_age_known(const SimulatedTime& now) const { return boots == now.boots || steps_at_boot == now.clock_steps; }
  uint64_t age_nano(const SimulatedTime& now) const { return now.elapsed_nano - elapsed_nano; }

  template <typename Visit>
  void visit_state(Visit& visit) {
    visit("elapsed_nano", elapsed_nano);
    visit("clock_steps", clock_steps);
    visit("boots", boots);
    visit("steps_at_boot", steps_at_boot);
  }
};

}  // namespace fathom::store::testing
