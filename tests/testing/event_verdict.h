// What a killed event_writer's detail pool must still have, and whether a reader got it.
//
// Purpose: the judgement of tests and of the benchmarks' crash.events_lost. Each event's place is in the program's log
// (client/programs/event_page.h), so there is no guess: it must be found if and only if its chunk still has the epoch
// that it was written in. (But of events in the middle of which a signal handler changed chunks: those may be in
// either, and count as overwritten if one of the two was.) Thread safety: pure functions. Errors: none; what is wrong
// is in the verdict.
#pragma once

#include <cstdint>
#include <string>

#include "client/programs/event_page.h"
#include "node-agent/detail/detail_file.h"
#include "node-agent/detail/detail_snapshot.h"

namespace fathom::testing {

struct EventVerdict {
  uint64_t committed = 0;  // events whose commit is known
  uint64_t found = 0;
  uint64_t overwritten = 0;  // their chunk has another epoch
  uint64_t under_way = 0;    // not found, and perhaps never committed
  uint64_t counted = 0;      // lost, as the program says itself
  uint64_t lost = 0;         // committed, not overwritten, not counted, not found
  uint64_t torn = 0;         // found with other bytes than were written, or although overwritten
  uint64_t doubled = 0;
  uint64_t holes = 0;
  uint64_t odd_holes = 0;  // more than there were writes under way

  uint64_t faults() const { return lost + torn + doubled + odd_holes; }
  bool good() const { return faults() == 0; }
  EventVerdict& operator+=(const EventVerdict& other);
  std::string text() const;
};

// Of a program that is gone.
EventVerdict judge(const agent::DetailFile& file, const agent::DetailSnapshot& snapshot, const client::EventPage& page,
                   uint32_t threads);
// Of one that still writes: what is torn, and what is doubled.
EventVerdict judge_alive(const agent::DetailSnapshot& snapshot, uint32_t threads);

}  // namespace fathom::testing
