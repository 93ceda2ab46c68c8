#include "node-agent/triggers/captured_windows.h"

#include <algorithm>

namespace fathom::agent {

namespace {

// Removes `other` from an end of `wanted`. Returns whether that made it shorter.
bool leave_out(TimeWindow& wanted, const TimeWindow& other, uint64_t slack_nano) {
  const TimeWindow before = wanted;
  if (other.begin_nano <= wanted.begin_nano + slack_nano)
    wanted.begin_nano = std::clamp(other.end_nano, wanted.begin_nano, wanted.end_nano);
  if (other.end_nano + slack_nano >= wanted.end_nano)
    wanted.end_nano = std::clamp(other.begin_nano, wanted.begin_nano, wanted.end_nano);
  return wanted != before;
}

}  // namespace

std::optional<TimeWindow> missing_part(TimeWindow wanted, const std::vector<TimeWindow>& others, uint64_t slack_nano) {
  if (wanted.begin_nano >= wanted.end_nano) return std::nullopt;
  while (std::ranges::any_of(others, [&](const TimeWindow& other) { return leave_out(wanted, other, slack_nano); })) {
  }
  if (wanted.end_nano - wanted.begin_nano <= slack_nano) return std::nullopt;
  return wanted;
}

void CapturedWindows::add(uint32_t program, const TraceId& trace_id, const TimeWindow& window, uint64_t now_nano) {
  std::vector<TimeWindow>* known = windows_.find({program, trace_id}, now_nano);
  if (known == nullptr) return (void)windows_.add({program, trace_id}, {window}, now_nano);
  if (std::ranges::find(*known, window) != known->end()) return;
  if (known->size() == kMostOfTrace) known->erase(known->begin());
  known->push_back(window);
}

void CapturedWindows::take_back(uint32_t program, const TraceId& trace_id, const TimeWindow& window,
                                uint64_t now_nano) {
  std::vector<TimeWindow>* known = windows_.find({program, trace_id}, now_nano);
  if (known == nullptr) return;
  std::erase(*known, window);
  if (known->empty()) windows_.erase({program, trace_id}, now_nano);
}

std::vector<TimeWindow> CapturedWindows::of(uint32_t program, const TraceId& trace_id, uint64_t now_nano) {
  const std::vector<TimeWindow>* known = windows_.find({program, trace_id}, now_nano);
  return known == nullptr ? std::vector<TimeWindow>() : *known;
}

}  // namespace fathom::agent
