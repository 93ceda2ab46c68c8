// Which of a process's time captures have: that of its spans.
//
// Rules: captures of the trace and of other requests count alike. Open spans do not: only captures tell of them.
// Clocks, and windows that follow one another, agree within kToleratedNano. Captures of the trace that cannot be read,
// or during which the calendar was set, may have all of it. Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "query/timeline/timeline.h"

namespace fathom::query {

inline constexpr uint64_t kToleratedNano = kNanosPerMilli;

enum class CapturedTime : uint8_t {
  kAll,        // also: it has no spans that are stored
  kBegin,      // it has a capture of the trace, and the first span's begin is captured, but not all that follows
  kPart,       // it has a capture of the trace, but the first span's begin is not captured
  kNotItsOwn,  // it has no capture of the trace, and others have not all of its time
};

// `timeline` has its spans placed.
CapturedTime captured_time(const Timeline& timeline, const TimelineProcess& process);

template <typename Visit>
void visit_spans(const TimelineProcess& process, const Visit& visit) {
  std::ranges::for_each(process.spans, visit);
  for (const TimelineThread& thread : process.threads) std::ranges::for_each(thread.spans, visit);
}

}  // namespace fathom::query
