#include "bench/tracers/event_rounds.h"

#include <numeric>
#include <thread>

#include "bench/tracers/instructions.h"

namespace fathom::bench::tracers {

namespace {

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::vector<unsigned> workers_here() {
  if (std::thread::hardware_concurrency() > 1) return {0, 1, 2, 3};
  return {0};
}

}  // namespace

Result<> EventRounds::add_program(const Command& command, const std::vector<RowPlan>& rows) {
  auto started = Subprocess::start(command);
  if (!started) return started.error();
  commands_.push_back(std::make_unique<Command>(command));
  processes_.push_back(std::move(*started));
  for (const auto& [row, single_calls] : rows) {
    places_.push_back({row, single_calls, processes_.back().get(), commands_.back().get()});
    times_[row];
  }
  return {};
}

Result<> EventRounds::fill() {
  for (const Place& place : places_) {
    if (Result<> done = ask_fill(*place.process, place.row, workers_here()); !done) return done;
  }
  return {};
}

Result<> EventRounds::in_turn(Result<> (EventRounds::*measure)(const Place&, RowTimes&)) {
  for (const Place& place : places_) {
    if (Result<> done = (this->*measure)(place, times_[place.row]); !done) return done;
  }
  return {};
}

// What ratios between rows are made of comes first, all of it within some tens of milliseconds.
Result<> EventRounds::run_round() {
  for (auto measure : {&EventRounds::measure_one, &EventRounds::measure_threads, &EventRounds::measure_singles}) {
    if (Result<> done = in_turn(measure); !done) return done;
  }
  return {};
}

Result<> EventRounds::measure_one(const Place& place, RowTimes& times) {
  const auto nanos = ask_loops(*place.process, place.row, {0}, {});
  if (!nanos) return nanos.error();
  times.one.push_back(nanos->at(0));
  return {};
}

Result<> EventRounds::measure_threads(const Place& place, RowTimes& times) {
  if (workers_here().size() < 4) return {};
  std::vector<double> sums;
  for (const std::vector<unsigned>& who : {std::vector<unsigned>{0}, {1}, {0, 1}, {0, 1, 2, 3}}) {
    const auto nanos = ask_loops(*place.process, place.row, who, {});
    if (!nanos) return nanos.error();
    sums.push_back(sum_of(*nanos));
  }
  times.two_over_one.push_back(sums[2] / (sums[0] + sums[1]));
  times.two.push_back(sums[2] / 2);
  times.four.push_back(sums[3] / 4);
  return {};
}

Result<> EventRounds::measure_singles(const Place& place, RowTimes& times) {
  const auto singles = ask_singles(*place.process, place.row, {.calls = place.single_calls});
  if (!singles) return singles.error();
  times.average.push_back(singles->average);
  times.deviation.push_back(singles->deviation);
  times.p90.push_back(singles->p90);
  if (singles->switches > 0) {
    times.switches.push_back(singles->switched);
    times.every.push_back(place.single_calls / singles->switches);
  } else if (singles->every > 0) {
    times.slow.push_back(singles->slow);
    times.every.push_back(singles->every);
  }
  return {};
}

Result<> EventRounds::count_instructions() {
  return in_turn(&EventRounds::count);
}

Result<> EventRounds::count(const Place& place, RowTimes& times) {
  const Result<double> counted = instructions_per_event(place.command->words[0], place.row, place.command->environment);
  if (!counted) return counted.error();
  times.instructions = *counted;
  return {};
}

}  // namespace fathom::bench::tracers
