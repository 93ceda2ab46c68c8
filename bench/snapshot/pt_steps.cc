#include "bench/snapshot/pt_steps.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "bench/snapshot/function_trace.h"

namespace fathom::bench {
namespace {

using namespace fathom::snapshot;

constexpr const char* kWhat[] = {
    "table 1 (overhead and bandwidth of Intel PT per workload)",
    "table 2 (Intel PT beside the kernel's function tracer)",
    "figure 5 (size and resolution over cyc_thresh)",
    "figure 6 (size and resolution over mtc_period)",
    "figure 7 (size and resolution over psb_period)",
};
constexpr const char* kTable1[] = {"TailFact",      "ParseInt", "Fib",        "RandMatStat", "CannyNoOptimize", "PiSum",
                                   "CannyOptimize", "Sort",     "RandMatMul", "Omega",       "Epsilon"};
constexpr const char* kTable2[] = {"FileIO", "Memory", "CPU"};
constexpr double kTurnSeconds = 0.2;
// What a figure is made of stays in its ring, however fine the times are.
constexpr uint64_t kSweepTurns = 1;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

class Paper {
 public:
  Paper(Report& report, const PtHost& host, const WorkloadStarter& start, int rounds)
      : report_(report), host_(host), start_(start), rounds_(rounds) {}

  Result<> table_1() {
    for (const char* name : kTable1) {
      auto workload = start_(name);
      if (!workload) return workload.error();
      auto turns = turns_of(**workload, kTurnSeconds);
      if (!turns) return turns.error();
      auto row = measure_overhead(host_, **workload, *turns, rounds_);
      if (!row) return row.error();
      report_.add("pt." + lower(name) + "_overhead_percent", row->overhead_percent, "table 1: time added by Intel PT");
      report_.add("pt." + lower(name) + "_mb_per_s", row->mb_per_s, "table 1: packets per second of the program's");
    }
    return {};
  }

  Result<> table_2() {
    for (const char* name : kTable2) {
      if (auto row = table_2_row(name); !row) return row;
    }
    return {};
  }

  Result<> figures() {
    auto workload = start_("PiSum");
    if (!workload) return workload.error();
    auto sweeps = measure_sweeps(host_, **workload, kSweepTurns);
    if (!sweeps) return sweeps.error();
    int figure = 5;
    for (const Sweep& sweep : *sweeps) add_figure(sweep, figure++);
    return {};
  }

 private:
  Result<> table_2_row(const std::string& name) {
    auto workload = start_(name);
    if (!workload) return workload.error();
    auto turns = turns_of(**workload, kTurnSeconds);
    if (!turns) return turns.error();
    const std::string key = "pt.table2_" + lower(name);
    auto pt = measure_traced(**workload, *turns, rounds_, [&] { return recorded(**workload, *turns); });
    if (!pt) return pt.error();
    report_.add(key + "_baseline_ms", pt->baseline_seconds * 1e3, "table 2: " + std::to_string(*turns) + " turns");
    report_.add(key + "_pt_percent", pt->overhead_percent, "table 2: added by Intel PT, kernel and user");
    return function_tracer(**workload, *turns, key);
  }

  Result<double> recorded(PtWorkload& workload, uint64_t turns) {
    PtOptions options;
    options.kernel = true;
    auto turn = run_recorded(host_.system, host_.directory, options, workload, turns);
    if (!turn) return turn.error();
    if (auto removed = host_.directory.remove(turn->id); !removed) return removed.error();
    return turn->seconds;
  }

  Result<> function_tracer(PtWorkload& workload, uint64_t turns, const std::string& key) {
    auto trace = FunctionTrace::make(workload.pid());
    if (!trace) {
      report_.note("left out: " + key + "_ftrace_percent (table 2): " + trace.error().message);
      return {};
    }
    const auto traced = [&]() -> Result<double> {
      if (auto on = (*trace)->put_on(); !on) return on.error();
      auto took = workload.run(turns);
      (*trace)->take_off();
      return took;
    };
    auto over = measure_traced(workload, turns, rounds_, traced);
    if (!over) return over.error();
    report_.add(key + "_ftrace_percent", over->overhead_percent, "table 2: added by the function tracer");
    return {};
  }

  void add_figure(const Sweep& sweep, int figure) {
    const std::string what = "figure " + std::to_string(figure) + ": ";
    if (sweep.points.empty()) return report_.note("left out: " + what + sweep.why_not);
    for (const SweepPoint& point : sweep.points) {
      const std::string key = "pt." + sweep.name + "_" + std::to_string(point.value);
      char resolution[128];
      std::snprintf(resolution, sizeof resolution, "%.0f ns and %.0f instructions between timed branches",
                    point.median_nano, point.median_instructions);
      report_.add(key + "_bytes", static_cast<double>(point.packet_bytes), what + "packets of one turn of PiSum");
      report_.add(key + "_trf", point.factor, what + resolution);
    }
  }

  Report& report_;
  const PtHost& host_;
  const WorkloadStarter& start_;
  const int rounds_;
};

}  // namespace

Result<> add_paper(Report& report, const PtHost& host, const std::string& why_not, const WorkloadStarter& start,
                   int rounds) {
  if (!why_not.empty()) {
    for (const char* what : kWhat) report.note(std::string("not on this host: ") + what + ": " + why_not);
    return {};
  }
  Paper paper(report, host, start, rounds);
  if (auto done = paper.table_1(); !done) return done;
  if (auto done = paper.table_2(); !done) return done;
  return paper.figures();
}

}  // namespace fathom::bench
