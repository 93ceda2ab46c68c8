// A program of rows: waits for requests on its standard input, measures, answers.
//
// Purpose: each tracer in a process of its own, all of them measured by turns within one run. A request is a line of
// JSON, {"row", "do", ...}, and so is its answer, {"fault"} among them when it could not be. Between requests the
// program sleeps. Ends with its standard input.
//
//   do "fill"   {"workers":[0,1]}                     until every buffer of these threads was filled once
//   do "loops"  {"workers", "loops", "calls", "pause_us"}  -> {"ns":[...]}: of each worker, the median over its loops
//   do "each"   {"calls", "interruption_ns"}          -> {"average", "deviation", "p90", "timer", "interrupted",
//   "slow",
//               "every", "switch", "switches"}: of single calls by worker 0, the timer's own cost taken out
//
// "PROGRAM --count ROW CALLS" makes so many calls and nothing else: for who counts instructions.
#pragma once

#include <string>
#include <vector>

#include "bench/tracers/row.h"

namespace fathom::bench::tracers {

// The answer to one request. Thread safety: one thread, which is not one of the workers.
class RowServer {
 public:
  explicit RowServer(std::vector<RowEntry> entries);
  ~RowServer();
  std::string answer(const std::string& request);

 private:
  class State;
  std::unique_ptr<State> state_;
};

int run_row_program(const std::vector<RowEntry>& entries, int argc, char** argv);

}  // namespace fathom::bench::tracers
