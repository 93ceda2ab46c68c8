// CapturedWindows: the windows of a trace that are already captured of each process, by any trigger.
//
// Purpose: a trace may be requested several times. Each part of it is captured once, and so is what happens later.
// Thread safety: none, belongs to the agent's loop. Units: nanoseconds of CLOCK_MONOTONIC. Bounds: kMost pairs of a
// program and a trace, each for kKeepNano; the oldest are forgotten first; kMostOfTrace windows of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/recent_map.h"
#include "base/time.h"

namespace fathom::agent {

struct TimeWindow {
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;
  bool operator==(const TimeWindow&) const = default;
};
struct ProgramWindow {
  uint32_t program = 0;  // WatchedProgram::serial
  TimeWindow window;
};

// Called with the window of a trace that gets no capture, although it was returned as captured or kept.
using NotMade = std::function<void(const TraceId&, const ProgramWindow&)>;

// The part of `wanted` from the first to the last instant that no other window covers; up to `slack_nano` may be
// missing at either end. No value: that part is not longer than `slack_nano`.
std::optional<TimeWindow> missing_part(TimeWindow wanted, const std::vector<TimeWindow>& others, uint64_t slack_nano);

class CapturedWindows {
 public:
  static constexpr size_t kMost = 2'048;
  static constexpr size_t kMostOfTrace = 8;
  static constexpr uint64_t kKeepNano = 5 * kNanosPerMinute;

  void add(uint32_t program, const TraceId& trace_id, const TimeWindow& window, uint64_t now_nano);
  // Removes a window that was not captured after all.
  void take_back(uint32_t program, const TraceId& trace_id, const TimeWindow& window, uint64_t now_nano);
  std::vector<TimeWindow> of(uint32_t program, const TraceId& trace_id, uint64_t now_nano);

 private:
  RecentMap<std::pair<uint32_t, TraceId>, std::vector<TimeWindow>> windows_{kMost, kKeepNano};
};

}  // namespace fathom::agent
