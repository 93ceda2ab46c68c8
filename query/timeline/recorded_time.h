// RecordedTime: the time of which the captures of one process have all events, by the kind of event.
//
// Purpose: captures of one process differ: recorders overwrite their oldest events, and only some captures have kernel
// events or system calls. A timeline uses further captures if they have what the others lack. Rules: gaps of at most
// kToleratedNano do not count, because clocks differ. Captures without content have nothing. Thread safety: plain
// values and functions. Units: nanoseconds of the calendar, as the times of StoredCapture; those of StateWindow are of
// the node's CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <vector>

#include "query/timeline/timeline.h"

namespace fathom::query {

bool is_system_call(const capture::KernelEvent& event);
bool has_system_calls(const capture::Capture& content);
// True if kernel events other than system calls may be missing from the complete part of the window, too.
bool lost_changes(const capture::Capture& content);
// The part of a capture's window that has all events of the program, or of the kernel. Empty: it has none.
StateWindow complete_events(const capture::Capture& content);
StateWindow complete_kernel(const capture::Capture& content);

struct Period {
  uint64_t begin_nano = UINT64_MAX;
  uint64_t end_nano = 0;

  bool is_empty() const { return end_nano <= begin_nano; }
};
using Periods = std::vector<Period>;

class RecordedTime {
 public:
  void add(const TimelineCapture& capture);
  // The parts of `whole`, by time, of which no capture has all events of the program and of the kernel.
  Periods missing(const Period& whole) const;
  // True if `capture` may have events that the others lack, of a time within `whole`.
  bool is_extended_by(const TimelineCapture& capture, const Period& whole) const;

 private:
  Periods events_;
  Periods kernel_;
  Periods calls_;
};

}  // namespace fathom::query
