// Small files of sysfs and procfs, as text and numbers.
//
// Thread safety: as the system's. Errors: nothing where a file is not there, not readable, or not what it should be.
// Content is treated as hostile: at most `most_bytes` are read, numbers must fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::snapshot {

// The whole file, without white space at its end.
std::optional<std::string> read_small_file(const std::string& path, size_t most_bytes = 1 << 20);
std::optional<uint64_t> parse_number(std::string_view text, int base = 10);
// "0-3,5" as the kernel writes lists of CPUs; nothing when it is no such list, or has a CPU beyond 65535.
std::optional<std::vector<int32_t>> parse_cpu_list(std::string_view text);
std::vector<std::string_view> split_lines(std::string_view text);
// Names that are numbers: the processes of /proc, the threads of /proc/PID/task.
std::vector<int32_t> numbered_entries(const std::string& directory);

}  // namespace fathom::snapshot
