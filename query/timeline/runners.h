// Runners: which threads of a process may have been on a processor at a moment.
//
// Purpose: who begins or ends a span runs just then; where only one thread did, it was that one. Rules: asked of a
// moment for which a capture has all that the kernel said; a thread whose state was not known then may have run.
// Moments are by the clock of spans, so who ran within 20 us of one counts. Thread safety: a plain value once it is
// made. Ownership: none. Units: nanoseconds of the calendar, as the timeline's. What it takes is told to `meter`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "query/timeline/meter.h"
#include "query/timeline/timeline.h"

namespace fathom::query {

class Runners {
 public:
  Runners(const Timeline& timeline, const TimelineProcess& process, Meter& meter);

  // By tid; nothing: not known.
  std::optional<std::vector<uint32_t>> at(uint64_t unix_nano, Meter& meter) const;
  // The only one that may have run at both moments, or at the one of them that is known.
  std::optional<uint32_t> only_one(uint64_t begin_unix_nano, uint64_t end_unix_nano, Meter& meter) const;

 private:
  struct Interval {
    uint64_t begin_unix_nano = 0;
    uint64_t end_unix_nano = 0;
  };
  struct Thread {
    uint32_t tid = 0;
    std::vector<Interval> ran;  // by time
  };
  struct Window {
    Interval known;
    std::vector<Thread> threads;  // by tid
  };

  static Window window_of(const TimelineCapture& capture, Meter& meter);
  static Thread thread_of(const TimelineCapture& capture, const capture::Thread& thread, Meter& meter);

  std::vector<Window> windows_;
};

}  // namespace fathom::query
