// CapturePart: the part of a capture that earlier captures of the same process do not have.
//
// Rules: a program's event is listed from the first capture whose window has it; kernel events from the first capture
// that has them completely. A capture without kernel events, or whose begin was overwritten, hides none of others.
// Thread safety: plain values. Ownership: views into the timeline's captures. Units: nanoseconds of the node's
// CLOCK_MONOTONIC.
#pragma once

#include <vector>

#include "base/result.h"
#include "query/timeline/meter.h"
#include "query/timeline/processor_use.h"
#include "query/timeline/thread_items.h"

namespace fathom::query {

// What an event of a set of spans is of.
struct SetMark {
  SpanId span_id;                                // of the trace: one that was asked for, if there is any; zero: none
  bool other = false;                            // of others' traces only
  const capture::SpanRef* other_span = nullptr;  // then, or where no trace was asked for: the first one
};

struct CapturePart {
  const TimelineCapture& capture;
  uint64_t after_nano = 0;              // earlier captures have told the program's events until here
  uint64_t kernel_after_nano = 0;       // and the kernel's, if with gaps
  std::vector<StateWindow> told = {};   // these are without gaps: [from, to], ascending, those that meet the window
  std::vector<StateWindow> fresh = {};  // the window without them
  std::vector<SetMark> sets = {};       // of each set of the capture
  ProcessorUse processors = {};         // by the threads of the process

  const capture::Capture& content() const { return *capture.content; }
  // Of what the kernel said all is there; nothing: it said nothing.
  StateWindow window() const;
  bool is_new(uint64_t nano) const { return nano > after_nano; }
  bool is_new_of_kernel(uint64_t nano) const;
};

// By begin of their windows. Errors: the budget's.
Result<std::vector<CapturePart>> parts_of(const Timeline& timeline, const TimelineProcess& process,
                                          const TimelineScope& scope, Meter& meter);

// Of a thread's states within the part's window, by time, what is new. What began before that has no start there, and
// what ends after it no waker.
std::vector<StateInterval> fresh_states(const CapturePart& part, const std::vector<StateInterval>& states,
                                        Meter& meter);

}  // namespace fathom::query
