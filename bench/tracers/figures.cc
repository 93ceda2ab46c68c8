#include "bench/tracers/figures.h"

#include <cstdio>
#include <numeric>

#include "bench/tracers/statistics.h"
#include "bench/tracers/survey.h"

namespace fathom::bench::tracers {

namespace {

struct KnownRow {
  const char* row;
  const char* label;
  bool changes_buffers = false;  // and so has a slow path
};

// In the order of the table.
constexpr KnownRow kEventRows[] = {
    {"none", "none (empty loop)"},
    {"clock", "clock read alone"},
    {"floor", "clock read and store"},
    {"lw_ust", "LW-ust"},
    {"tracepoint_disabled", "fathom, disabled"},
    {"tracepoint_no_clock", "fathom, without clock", true},
    {"tracepoint", "fathom tracepoint", true},
    {"span", "fathom span, 2 attributes", true},
    {"lttng_ust", "LTTng-UST", true},
    {"lttng_ust_small", "LTTng-UST, 2 x 8 KiB", true},
    {"tracef", "LTTng tracef()", true},
    {"printf", "printf", true},
};
constexpr KnownRow kSyscallRows[] = {
    {"none", "none"}, {"ftrace", "ftrace"}, {"fathom", "fathom"}, {"perf_trace", "perf trace"}, {"strace", "strace"}};

template <typename Map>
const typename Map::mapped_type* find(const Map& map, const std::string& row) {
  const auto at = map.find(row);
  return at == map.end() ? nullptr : &at->second;
}

std::string cell(double value, int width, const char* format) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  const std::string out = text;
  return std::string(out.size() < static_cast<size_t>(width) ? static_cast<size_t>(width) - out.size() : 0, ' ') + out;
}

std::string nanos(double value, int width) {
  return cell(value, width, value < 100 ? "%.1f" : "%.0f");
}

std::string nanos(const std::vector<double>& rounds, int width) {
  return rounds.empty() ? std::string(static_cast<size_t>(width - 1), ' ') + "-" : nanos(median_of(rounds), width);
}

std::string name(const char* label) {
  std::string out = label;
  out.resize(27, ' ');
  return out;
}

std::string instructions(double count) {
  return count > 0 ? cell(count, 8, "%.0f") : "       -";
}

std::string survey_cells(const SurveyFigures* survey) {
  if (survey == nullptr) return "";
  return nanos(survey->average, 11) + nanos(survey->deviation, 7) + nanos(survey->p90, 7);
}

std::string survey_event_cells(const SurveyFigures* survey) {
  return survey == nullptr ? "" : survey_cells(survey) + instructions(survey->instructions);
}

// Found in at least half of the rounds, or it would be chance that speaks.
bool has_slow_path(const RowTimes& times) {
  return !times.switches.empty() || (!times.slow.empty() && 2 * times.slow.size() >= times.one.size());
}

std::string slow_path_cells(const KnownRow& known, const RowTimes& times) {
  if (has_slow_path(times))
    return nanos(times.switches.empty() ? times.slow : times.switches, 7) + cell(median_of(times.every), 7, "%.0f");
  return known.changes_buffers ? "      ?      ?" : "      -      -";
}

std::string event_line(const KnownRow& known, const RowTimes& times) {
  return name(known.label) + nanos(times.one, 8) + nanos(times.average, 9) + nanos(times.deviation, 7) +
         nanos(times.p90, 7) + slow_path_cells(known, times) + nanos(times.two, 8) + nanos(times.four, 8) +
         instructions(times.instructions) + survey_event_cells(find_in_survey(kSurveyEvents, known.row)) + "\n";
}

// Why a cell has no figure, or not the one that its column promises.
std::string event_footnotes(const EventTimes& times) {
  std::string out;
  for (const KnownRow& known : kEventRows) {
    const RowTimes* row = find(times, known.row);
    if (row == nullptr || !known.changes_buffers || has_slow_path(*row)) continue;
    out += std::string(known.label) + ": no slow path found; what took long returned at no even distance in " +
           std::to_string(row->one.size() - row->slow.size()) + " of " + std::to_string(row->one.size()) + " rounds\n";
  }
  const RowTimes* span = find(times, "span");
  if (span != nullptr && !span->two.empty())
    out += "fathom span: of several threads, each also fetches memory that another gave back; see bench spans\n";
  return out;
}

void add_details(const std::string& prefix, const RowTimes& times, Report& report) {
  const std::pair<const char*, const std::vector<double>*> all[] = {
      {"loop_median_ns", &times.one},   {"average_ns", &times.average}, {"deviation_ns", &times.deviation},
      {"p90_ns", &times.p90},           {"switch_ns", &times.switches}, {"two_threads_ns", &times.two},
      {"four_threads_ns", &times.four},
  };
  for (const auto& [key, values] : all) {
    if (!values->empty()) report.add_detail(prefix + key, median_of(*values));
  }
  if (has_slow_path(times)) report.add_detail(prefix + "slow_path_every", median_of(times.every));
  if (has_slow_path(times) && !times.slow.empty()) report.add_detail(prefix + "slow_path_ns", median_of(times.slow));
  if (times.instructions > 0) report.add_detail(prefix + "instructions", times.instructions);
}

void add_floor(const RowTimes& floor, Report& report) {
  report.add("floor.rdtsc_and_store_ns", median_of(floor.one), "16 bytes into a ring of 1 MiB that was filled before");
  if (floor.two_over_one.empty()) return;
  report.add("floor.two_threads_over_one", median_of(floor.two_over_one),
             "of threads with nothing in common: how far the processors are two");
}

void add_over_lttng(const RowTimes& tracepoint, const EventTimes& times, Report& report) {
  if (const RowTimes* lttng = find(times, "lttng_ust"))
    report.add("tracepoint.over_lttng_ust", median_ratio(tracepoint.one, lttng->one),
               "the one over the other's " + nanos(lttng->one, 0) + " ns, with its usual buffers");
  if (const RowTimes* lttng = find(times, "lttng_ust_small"))
    report.add("tracepoint.over_lttng_ust_small", median_ratio(tracepoint.one, lttng->one),
               "with the survey's two buffers of 8 KiB");
}

void add_tracepoint(const RowTimes& tracepoint, const EventTimes& times, Report& report) {
  report.add("tracepoint.loop_median_ns", median_of(tracepoint.one), "enabled, 4 bytes, no reader");
  if (const RowTimes* floor = find(times, "floor"))
    report.add("tracepoint.over_floor", median_ratio(tracepoint.one, floor->one), "over the clock read and store");
  add_over_lttng(tracepoint, times, report);
  if (!tracepoint.two_over_one.empty())
    report.add("tracepoint.two_threads_over_one", median_of(tracepoint.two_over_one),
               "each of two threads, on processors of their own");
  if (!tracepoint.switches.empty())
    report.add("tracepoint.chunk_switch_ns", median_of(tracepoint.switches), "an event that takes the next chunk");
}

void add_other_own(const EventTimes& times, Report& report) {
  if (const RowTimes* bare = find(times, "tracepoint_no_clock"))
    report.add("tracepoint.without_clock_ns", median_of(bare->one), "the same with the clock read taken out");
  const RowTimes* none = find(times, "none");
  const RowTimes* disabled = find(times, "tracepoint_disabled");
  if (none != nullptr && disabled != nullptr)
    report.add("tracepoint.disabled_ns", median_difference(disabled->one, none->one), "over an empty loop");
  if (const RowTimes* span = find(times, "span"))
    report.add("span.start_end_2attr_ns", median_of(span->one), "an integer, a text of 16 bytes");
}

}  // namespace

void add_event_figures(const EventTimes& times, Report& report) {
  if (const RowTimes* floor = find(times, "floor")) add_floor(*floor, report);
  if (const RowTimes* tracepoint = find(times, "tracepoint")) add_tracepoint(*tracepoint, times, report);
  add_other_own(times, report);
  for (const auto& [row, values] : times) add_details("event." + row + ".", values, report);
}

void add_syscall_figures(const SyscallTimesByRow& times, Report& report) {
  const SyscallTimes* fathom = find(times, "fathom");
  const SyscallTimes* perf = find(times, "perf_trace");
  if (fathom != nullptr && perf != nullptr)
    report.add("syscall.added_over_perf_trace", median_ratio(fathom->added, perf->added),
               "what the one adds to an empty system call, over what the other adds");
  for (const auto& [row, values] : times) {
    const std::string prefix = "syscall." + row + ".";
    report.add_detail(prefix + "loop_median_ns", median_of(values.loop));
    report.add_detail(prefix + "average_ns", median_of(values.average));
    report.add_detail(prefix + "deviation_ns", median_of(values.deviation));
    report.add_detail(prefix + "p90_ns", median_of(values.p90));
    if (!values.added.empty()) report.add_detail(prefix + "added_ns", median_of(values.added));
  }
}

std::string event_table(const EventTimes& times) {
  std::string out =
      "one event, 4 bytes, ns       loop  average     sd    p90   slow  every 2 thrds 4 thrds  instrs | survey:  avg"
      "     sd    p90  instrs\n";
  for (const KnownRow& known : kEventRows) {
    if (const RowTimes* row = find(times, known.row)) out += event_line(known, *row);
  }
  return out + event_footnotes(times);
}

std::string syscall_table(const SyscallTimesByRow& times, const std::map<std::string, std::string>& missing) {
  std::string out = "an empty system call, ns     loop  average     sd    p90   added | survey:  avg     sd    p90\n";
  for (const KnownRow& known : kSyscallRows) {
    const SyscallTimes* row = find(times, known.row);
    const std::string* why = find(missing, known.row);
    if (row != nullptr)
      out += name(known.label) + nanos(row->loop, 8) + nanos(row->average, 9) + nanos(row->deviation, 7) +
             nanos(row->p90, 7) + nanos(row->added, 8) + "    " +
             survey_cells(find_in_survey(kSurveySyscalls, known.row)) + "\n";
    else if (why != nullptr)
      out += name(known.label) + "not available here: " + *why + "\n";
  }
  return out;
}

Panel event_panel(const EventTimes& times) {
  Panel panel{"one event with a payload of 4 bytes, ns", {}};
  for (const KnownRow& known : kEventRows) {
    const RowTimes* row = find(times, known.row);
    const SurveyFigures* survey = find_in_survey(kSurveyEvents, known.row);
    if (row != nullptr)
      panel.bars.push_back({known.label, median_of(row->one), survey == nullptr ? 0 : survey->average});
  }
  return panel;
}

Panel syscall_panel(const SyscallTimesByRow& times) {
  Panel panel{"an empty system call, ns", {}};
  for (const KnownRow& known : kSyscallRows) {
    const SyscallTimes* row = find(times, known.row);
    const SurveyFigures* survey = find_in_survey(kSurveySyscalls, known.row);
    if (row != nullptr)
      panel.bars.push_back({known.label, median_of(row->loop), survey == nullptr ? 0 : survey->average});
  }
  return panel;
}

}  // namespace fathom::bench::tracers
