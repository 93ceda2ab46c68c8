// Slices: calls as intervals, in the order of their ends and beginnings; and balance_slices(), which pairs them.
//
// Purpose: a machine notes beginnings and ends as it finds them, and which callers it discovered later; whoever draws
// them wants as many ends as beginnings, each caller where it began. Thread safety: plain values. Memory: at most
// `most` events; the rest is counted.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "snapshot/decode/call_functions.h"

namespace fathom::snapshot {

struct SliceEvent {
  uint64_t tsc = 0;
  const CallFunction* function = nullptr;  // begins; nullptr: the innermost one ends
  bool floor = false;                      // the place where callers that are discovered later begin
};
struct Slices {
  void add(const SliceEvent& event) {
    if (events.size() < most) {
      events.push_back(event);
    } else {
      ++dropped;
    }
  }

  uint64_t most = UINT64_MAX;
  uint64_t dropped = 0;
  std::vector<SliceEvent> events;
  std::vector<std::pair<uint32_t, const CallFunction*>> discovered;  // (floor, function): begins there, before others
};

// Calls begin(event, tsc, function, uncalled) and end(event) in the order of time: a discovered caller begins at its
// floor, which is `event`, and nobody saw it (`uncalled`) called. What is open at the end ends at events.size().
template <typename Begin, typename End>
void balance_slices(const Slices& slices, Begin begin, End end) {
  std::multimap<size_t, const CallFunction*> discovered;
  for (const auto& [floor, function] : slices.discovered) discovered.emplace(floor, function);
  const std::vector<SliceEvent>& events = slices.events;
  uint64_t open = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].floor) {
      // The last one that was discovered is the outermost.
      auto [first, last] = discovered.equal_range(i);
      const uint64_t tsc = events[i].tsc != 0 || i + 1 == events.size() ? events[i].tsc : events[i + 1].tsc;
      for (; last != first; ++open) begin(i, tsc, (--last)->second, true);
    } else if (events[i].function != nullptr) {
      begin(i, events[i].tsc, events[i].function, false);
      ++open;
    } else if (open > 0) {
      end(i);
      --open;
    }
  }
  for (; open > 0; --open) end(events.size());
}

}  // namespace fathom::snapshot
