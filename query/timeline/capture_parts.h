// CapturePart: the part of a capture that earlier captures of the same process do not have.
//
// Rules: each kind of events is listed from the first capture that has them completely: the program's events, kernel
// events, and system calls, which some captures lack. Of a time that no capture has completely, each capture lists what
// it has (event_union.h). A capture that lacks a kind, or whose begin was overwritten, hides none of other captures.
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

// The time of which other captures have told one kind of events.
struct ToldWindows {
  std::vector<StateWindow> windows = {};  // without gaps: [from, to], ascending, those that meet the capture's window
  uint64_t last_nano = 0;                 // the end of the last one, also of those before the capture's window

  bool has(uint64_t nano) const;
};

struct CapturePart {
  const TimelineCapture& capture;
  ToldWindows events = {};              // of the program, by earlier captures
  ToldWindows all_events = {};          // by all captures, also by this one
  ToldWindows kernel = {};              // by earlier captures
  ToldWindows calls = {};               // by earlier captures that have system calls
  std::vector<StateWindow> fresh = {};  // the window without `kernel`
  std::vector<SetMark> sets = {};       // of each set of the capture
  ProcessorUse processors = {};         // by the threads of the process

  const capture::Capture& content() const { return *capture.content; }
  // Of what the kernel said all is there; nothing: it said nothing.
  StateWindow window() const;
  bool is_new(uint64_t nano) const;
  bool is_new_of_kernel(uint64_t nano) const { return is_new_of_kernel(nano, kernel); }
  bool is_new_call(uint64_t end_nano) const { return is_new_of_kernel(end_nano, calls); }

 private:
  bool is_new_of_kernel(uint64_t nano, const ToldWindows& told) const;
};

// By begin of their windows. Errors: the budget's.
Result<std::vector<CapturePart>> parts_of(const Timeline& timeline, const TimelineProcess& process,
                                          const TimelineScope& scope, Meter& meter);

// Of a thread's states within the part's window, by time, what is new. What began before that has no start there, and
// what ends after it no waker.
std::vector<StateInterval> fresh_states(const CapturePart& part, const std::vector<StateInterval>& states,
                                        Meter& meter);

}  // namespace fathom::query
