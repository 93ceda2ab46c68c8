// What /proc says of processes that were there before recording began: their names, threads and executable maps.
//
// Thread safety: as procfs: a process that ends meanwhile is not there, or only half. Errors: none; what cannot be read
// is left out. Content is treated as hostile (names of files and threads are anybody's).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/format/perf_records.h"
#include "snapshot/record/pt/perf_system.h"

namespace fathom::snapshot {

// One line of /proc/PID/maps, if it is executable.
std::optional<PerfSideband> parse_map_line(std::string_view line, int32_t pid);
// Rows with tsc 0 of one process: names of its threads, and its executable maps.
std::vector<PerfSideband> read_process(const PerfSystem& system, int32_t pid);
std::vector<int32_t> threads_of(const PerfSystem& system, int32_t pid);
std::vector<int32_t> all_processes(const PerfSystem& system);
// The number at `index` behind the name of /proc/PID/stat, whose text may hold anything: 0 is the state, no number.
std::optional<int64_t> number_of_stat(std::string_view stat, size_t index);
// `pid`, its children and theirs; at most so many.
std::vector<int32_t> with_descendants(const PerfSystem& system, int32_t pid, size_t most);

}  // namespace fathom::snapshot
