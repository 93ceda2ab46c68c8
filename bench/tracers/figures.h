// From the times of many rounds to the keys that are promised, and to the table beside the survey's.
//
// Purpose: pure arithmetic and text over what event_rounds.h and syscall_rounds.h have measured. Thread safety: plain
// functions. Units: nanoseconds. A row that was not measured leaves out the keys that need it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/report.h"
#include "bench/tracers/event_rounds.h"
#include "bench/tracers/plot.h"
#include "bench/tracers/syscall_rounds.h"

namespace fathom::bench::tracers {

using EventTimes = std::map<std::string, RowTimes>;
using SyscallTimesByRow = std::map<std::string, SyscallTimes>;

void add_event_figures(const EventTimes& times, Report& report);
void add_syscall_figures(const SyscallTimesByRow& times, Report& report);

std::string event_table(const EventTimes& times);
std::string syscall_table(const SyscallTimesByRow& times, const std::map<std::string, std::string>& missing);

Panel event_panel(const EventTimes& times);
Panel syscall_panel(const SyscallTimesByRow& times);

}  // namespace fathom::bench::tracers
