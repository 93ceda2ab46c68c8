// The rows of user space, measured by turns.
//
// Purpose: in each round every row has a turn of some milliseconds in every kind of measurement, so that what the
// machine does meanwhile falls on all; ratios are formed within a round. Thread safety: one thread. Units: nanoseconds
// per event. Errors: of a row's program, which ends the run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/tracers/row_client.h"
#include "bench/tracers/subprocess.h"

namespace fathom::bench::tracers {

// One value per round each.
struct RowTimes {
  std::vector<double> one;                      // loop median of one thread
  std::vector<double> two, four;                // loop median of each of so many threads, their mean
  std::vector<double> two_over_one;             // the sum of two threads at once over the sum of either alone
  std::vector<double> average, deviation, p90;  // of single events
  std::vector<double> slow, every;              // the slow path that returns, of rounds in which one was found
  std::vector<double> switches;                 // events that changed buffers, where the row can tell
  double instructions = 0;                      // 0: not counted
};

struct RowPlan {
  std::string row;
  uint32_t single_calls = SinglePlan{}.calls;
};

class EventRounds {
 public:
  // `rows` of a program that speaks as row_program.h says.
  Result<> add_program(const Command& command, const std::vector<RowPlan>& rows);
  Result<> fill();  // every buffer once
  Result<> run_round();
  const std::map<std::string, RowTimes>& times() const { return times_; }
  // Counted once, on the side.
  Result<> count_instructions();

 private:
  struct Place {
    std::string row;
    uint32_t single_calls;
    Subprocess* process;
    const Command* command;
  };
  Result<> in_turn(Result<> (EventRounds::*measure)(const Place&, RowTimes&));
  Result<> measure_one(const Place& place, RowTimes& times);
  Result<> measure_threads(const Place& place, RowTimes& times);
  Result<> measure_singles(const Place& place, RowTimes& times);
  Result<> count(const Place& place, RowTimes& times);

  std::vector<std::unique_ptr<Command>> commands_;
  std::vector<std::unique_ptr<Subprocess>> processes_;
  std::vector<Place> places_;
  std::map<std::string, RowTimes> times_;
};

}  // namespace fathom::bench::tracers
