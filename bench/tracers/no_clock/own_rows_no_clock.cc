// In a folder of its own, because the sources of a folder may be compiled as one (cmake/unity.cmake).
#define FATHOM_EVENT_NO_CLOCK  // for this source alone: what it changes is inlined
#include "bench/tracers/event_row.h"
#include "bench/tracers/own_rows.h"

namespace fathom::bench::tracers {

namespace {

FATHOM_BENCH_INLINE void event_without_clock(int32_t payload) {
  FATHOM_EVENT_ON("bench.event_without_clock", "n", payload);
}

}  // namespace

std::vector<RowEntry> rows_without_clock() {
  return {{"tracepoint_no_clock", make_row<EventRow<event_without_clock>>}};
}

}  // namespace fathom::bench::tracers
