#include "bench/tracers/row_program.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>

#include "bench/tracers/statistics.h"
#include "bench/tracers/workers.h"

namespace fathom::bench::tracers {

namespace json = boost::json;

namespace {

constexpr unsigned kWorkers = 4;
constexpr uint32_t kCallsOfAFill = 2'000;  // between two give_back()

// A row, and the threads that are ready for it.
class Prepared {
 public:
  explicit Prepared(std::unique_ptr<Row> row) : row_(std::move(row)), started_(kWorkers, false) {}
  Row& row() { return *row_; }

  void fill(Workers& workers, const std::vector<unsigned>& who) {
    workers.run(who, [&](unsigned worker) {
      if (started_[worker] == 0) row_->start_thread();
      started_[worker] = 1;
      for (uint32_t done = 0; done < row_->calls_to_fill(); done += kCallsOfAFill) {
        row_->run(kCallsOfAFill);
        row_->give_back();
      }
    });
  }

 private:
  std::unique_ptr<Row> row_;
  std::vector<char> started_;  // bytes: each is its own worker's
};

struct Loops {
  uint32_t loops;
  uint32_t calls;
  std::chrono::microseconds pause;
};

double time_loop_of(Row& row, uint32_t calls) {
  const uint64_t begin = ticks();
  row.run(calls);
  return static_cast<double>(ticks() - begin) * nanos_per_tick() / calls;
}

std::vector<double> time_loops(Row& row, const Loops& how) {
  std::vector<double> nanos;
  for (uint32_t i = 0; i <= how.loops; ++i) {
    const double nano = time_loop_of(row, how.calls);
    if (i > 0) nanos.push_back(nano);  // the first brings back what others have pushed out of the caches
    row.give_back();
    if (how.pause.count() > 0) std::this_thread::sleep_for(how.pause);
  }
  return nanos;
}

// Whoever is done goes on unmeasured, so that the others are not alone for their last loops.
json::array measure_loops(Row& row, Workers& workers, const std::vector<unsigned>& who, const Loops& how) {
  std::vector<double> medians(kWorkers);
  Gate begin(static_cast<unsigned>(who.size())), end(static_cast<unsigned>(who.size()));
  workers.run(who, [&](unsigned worker) {
    begin.pass();
    medians[worker] = median_of(time_loops(row, how));
    for (end.come(); !end.all_came(); row.give_back()) row.run(how.calls);
  });
  json::array out;
  for (const unsigned worker : who) out.push_back(medians[worker]);
  return out;
}

FATHOM_BENCH_INLINE void no_event(int32_t) {}

struct Singles {
  std::vector<double> nanos;  // in order, less the timer's own cost
  std::vector<double> switches;
  double timer = 0;
};

Singles time_singles(Row& row, uint32_t calls) {
  std::vector<TimedCall> empty(calls), timed(calls);
  LoopRow<no_event, 1>().time_each(empty.data(), calls);
  row.run(std::min(calls, kCallsOfAFill));
  row.give_back();
  for (uint32_t done = 0; done < calls; done += kCallsOfAFill) {
    row.time_each(timed.data() + done, std::min(kCallsOfAFill, calls - done));
    row.give_back();
  }
  Singles out;
  std::vector<double> timer;
  for (const TimedCall& call : empty) timer.push_back(call.ticks * nanos_per_tick());
  // Half of them lie above the coarse counter's step and half below: the mean of what was not interrupted.
  const double limit = percentile_of(timer, 99);
  std::erase_if(timer, [&](double nano) { return nano > limit; });
  out.timer = distribution_of(timer).average;
  for (const TimedCall& call : timed) {
    out.nanos.push_back(call.ticks * nanos_per_tick() - out.timer);
    if (call.switched) out.switches.push_back(out.nanos.back());
  }
  return out;
}

// A slow path may be longer than an interruption; that it returns is what tells it apart.
json::object describe(const Singles& singles, double interruption_nano) {
  std::vector<double> whole = singles.nanos;
  std::erase_if(whole, [&](double nano) { return nano > interruption_nano; });
  const Distribution all = distribution_of(whole);
  const SlowPath slow = find_slow_path(singles.nanos).value_or(SlowPath{});
  return {{"average", all.average},
          {"deviation", all.deviation},
          {"p90", all.p90},
          {"timer", singles.timer},
          {"interrupted", singles.nanos.size() - whole.size()},
          {"slow", slow.median},
          {"every", slow.every},
          {"switch", median_of(singles.switches)},
          {"switches", singles.switches.size()}};
}

json::object fault(const std::string& what) {
  return {{"fault", what}};
}

uint32_t number_of(const json::object& request, const char* key, uint32_t otherwise) {
  const json::value* value = request.if_contains(key);
  return value == nullptr ? otherwise : value->to_number<uint32_t>();
}

std::vector<unsigned> workers_of(const json::object& request) {
  const json::value* list = request.if_contains("workers");
  return list == nullptr ? std::vector<unsigned>{0} : json::value_to<std::vector<unsigned>>(*list);
}

}  // namespace

class RowServer::State {
 public:
  explicit State(std::vector<RowEntry> entries) : entries_(std::move(entries)), workers_(kWorkers) {}

  json::object answer(const json::object& request) {
    Prepared* prepared = find(std::string(request.at("row").as_string()));
    if (prepared == nullptr) return fault("there is no such row here");
    json::object out = answer(*prepared, request);
    const std::string wrong = prepared->row().fault();
    return wrong.empty() ? out : fault(wrong);
  }

 private:
  Prepared* find(const std::string& name) {
    if (auto at = prepared_.find(name); at != prepared_.end()) return &at->second;
    for (const RowEntry& entry : entries_) {
      if (entry.name == name) return &prepared_.try_emplace(name, entry.make()).first->second;
    }
    return nullptr;
  }

  json::object answer(Prepared& prepared, const json::object& request) {
    const std::string_view what = request.at("do").as_string();
    if (what == "fill") {
      prepared.fill(workers_, workers_of(request));
      return {};
    }
    if (what == "loops") {
      const Loops how{number_of(request, "loops", 20), number_of(request, "calls", 2'000),
                      std::chrono::microseconds(number_of(request, "pause_us", 0))};
      return {{"ns", measure_loops(prepared.row(), workers_, workers_of(request), how)}};
    }
    if (what == "each") return each(prepared.row(), request);
    return fault("there is nothing like that to do");
  }

  json::object each(Row& row, const json::object& request) {
    Singles singles;
    workers_.run({0}, [&](unsigned) { singles = time_singles(row, number_of(request, "calls", 5'000)); });
    return describe(singles, number_of(request, "interruption_ns", 5'000));
  }

  const std::vector<RowEntry> entries_;
  std::map<std::string, Prepared> prepared_;
  Workers workers_;
};

RowServer::RowServer(std::vector<RowEntry> entries) : state_(std::make_unique<State>(std::move(entries))) {}
RowServer::~RowServer() = default;

std::string RowServer::answer(const std::string& request) {
  boost::system::error_code error;
  const json::value value = json::parse(request, error);
  return json::serialize(error ? fault("this is not JSON") : state_->answer(value.as_object()));
}

namespace {

int count_calls(const std::vector<RowEntry>& entries, std::string_view name, uint32_t calls) {
  for (const RowEntry& entry : entries) {
    if (entry.name != name) continue;
    const auto row = entry.make();
    row->start_thread();
    for (uint32_t done = 0; done < calls; done += kCallsOfAFill) row->run(kCallsOfAFill), row->give_back();
    return row->fault().empty() ? 0 : 1;
  }
  return 2;
}

}  // namespace

int run_row_program(const std::vector<RowEntry>& entries, int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--count")
    return count_calls(entries, argv[2], static_cast<uint32_t>(std::atoi(argv[3])));
  nanos_per_tick();
  RowServer server(entries);
  for (std::string request; std::getline(std::cin, request);) std::cout << server.answer(request) << std::endl;
  return 0;
}

}  // namespace fathom::bench::tracers
