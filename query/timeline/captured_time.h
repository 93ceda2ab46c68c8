// How much of the time of a process's spans is captured.
//
// Rules: captures of the trace and of other requests count alike. Open spans are ignored, because only captures know
// them. Clocks, and windows that follow one another, agree within kToleratedNano. Captures of the trace that cannot be
// read, or that a clock jump crosses, are assumed to cover all of the time. Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "query/timeline/timeline.h"

namespace fathom::query {

inline constexpr uint64_t kToleratedNano = kNanosPerMilli;

enum class CapturedTime : uint8_t {
  kAll,        // all of the time, or the process has no stored spans
  kBegin,      // the process has a capture of the trace; the first span's begin is captured, but not all of the rest
  kPart,       // the process has a capture of the trace, but the first span's begin is not captured
  kNotItsOwn,  // the process has no capture of the trace, and other captures do not cover all of its time
};

// The spans of `timeline` must have been placed.
CapturedTime captured_time(const Timeline& timeline, const TimelineProcess& process);

template <typename Visit>
void visit_spans(const TimelineProcess& process, const Visit& visit) {
  std::ranges::for_each(process.spans, visit);
  for (const TimelineThread& thread : process.threads) std::ranges::for_each(thread.spans, visit);
}

}  // namespace fathom::query
