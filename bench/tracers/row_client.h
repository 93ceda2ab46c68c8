// What is asked of a row program (row_program.h), with the answers as numbers.
//
// Thread safety: one thread per program. Units: nanoseconds. Errors: kUnavailable with the row's own words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/tracers/subprocess.h"

namespace fathom::bench::tracers {

struct LoopPlan {
  uint32_t loops = 20;
  uint32_t calls = 2'000;
  uint32_t pause_us = 0;  // between loops: for whoever reads along
};
struct SinglePlan {
  uint32_t calls = 60'000;           // fifteen chunks of ours; whose buffers hold more needs more to show a slow path
  uint32_t interruption_ns = 5'000;  // what takes longer was interrupted, and is left out
};
struct SingleTimes {
  double average = 0, deviation = 0, p90 = 0;
  double slow = 0, every = 0;         // 0: none was seen
  double switched = 0, switches = 0;  // the median of so many
};

Result<> ask_fill(Subprocess& program, const std::string& row, const std::vector<unsigned>& workers);
// Of each worker, the median over its loops.
Result<std::vector<double>> ask_loops(Subprocess& program, const std::string& row, const std::vector<unsigned>& workers,
                                      const LoopPlan& plan);
Result<SingleTimes> ask_singles(Subprocess& program, const std::string& row, const SinglePlan& plan);

}  // namespace fathom::bench::tracers
