// What a span costs the program that makes it, measured within this process.
//
// Purpose: the client's fast path alone. Thread safety: run it once per process, which must have no agent
// (FATHOM_AGENT_SOCKET empty): the memory is given back between the measured loops, by the tests' reader. Units:
// nanoseconds per span, medians over loops.
#pragma once

#include <cstdint>

namespace fathom::bench {

struct SpanCost {
  double start_end_2attr_ns = 0;         // one thread
  double two_threads_over_one = 0;       // of each of two, on processors of their own; 0: there is one processor only
  double bare_two_threads_over_one = 0;  // floor: of a clock, arithmetic and a copy, without anything in common
  double two_ticks_ns = 0;               // floor: the processor's counter, read twice
  double copy_ns = 0;                    // floor: 160 bytes to memory that goes round
  uint64_t lost = 0;                     // must be 0, or it was not spans that were measured
};
SpanCost measure_span_cost(int rounds);

// Measures, and writes it to `ready_fd` as one line of JSON.
int run_span_cost(int ready_fd);

}  // namespace fathom::bench
