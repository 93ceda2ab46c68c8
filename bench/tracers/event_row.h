// What fathom's tracepoints have in common as rows, however they were compiled.
//
// Purpose: which chunk a thread writes to, and how long until the pool has been round. Units: events of 16 bytes.
#pragma once

#include <fathom/event.h>

#include <string>

#include "bench/tracers/row.h"
#include "client/pool/detail_layout.h"

namespace fathom::bench::tracers {

inline constexpr uint32_t kEventBytes = 16;
inline constexpr uint32_t kPoolMib = 32;  // the client's default
inline constexpr uint32_t kEventsOfAPool = (kPoolMib << 20) / kEventBytes;

// The end of this thread's chunk.
inline uint64_t place_of_events() {
  const fathom_limit* limit = fathom_writer_v1.limit;
  return limit == nullptr ? 0 : limit->last;
}

template <void (*kEvent)(int32_t)>
class EventRow : public LoopRow<kEvent, kEventsOfAPool, place_of_events> {
 public:
  EventRow() { kEvent(0); }  // makes the pool: threads that begin at once lose events while one makes it
  std::string fault() const override {
    const uint64_t lost = fathom_lost_events();
    return lost == 0 ? "" : std::to_string(lost) + " events were lost, so it is not events that were measured";
  }
};

}  // namespace fathom::bench::tracers
