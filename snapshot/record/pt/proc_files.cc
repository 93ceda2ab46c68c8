#include "snapshot/record/pt/proc_files.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "snapshot/record/pt/system_files.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostMapsBytes = 64 << 20;

// The next word of a line whose words are separated by spaces.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

bool parse_range(std::string_view text, Sideband& row) {
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return false;
  const auto begin = parse_number(text.substr(0, dash), 16);
  const auto end = parse_number(text.substr(dash + 1), 16);
  if (!begin || !end || *end <= *begin) return false;
  row.address = *begin;
  row.length = *end - *begin;
  return true;
}

void parse_device(std::string_view text, PerfMapping& mapping) {
  const size_t colon = text.find(':');
  mapping.device_major = static_cast<uint32_t>(parse_number(text.substr(0, colon), 16).value_or(0));
  if (colon != std::string_view::npos)
    mapping.device_minor = static_cast<uint32_t>(parse_number(text.substr(colon + 1), 16).value_or(0));
}

PerfSideband name_row(const PerfSystem& system, int32_t pid, int32_t tid) {
  const std::string task = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
  PerfSideband made;
  made.row.kind = SidebandKind::kName;
  made.row.pid = pid;
  made.row.tid = tid;
  made.row.text = read_small_file(system.path(task + "/comm"), 64).value_or("");
  return made;
}

}  // namespace

std::optional<PerfSideband> parse_map_line(std::string_view line, int32_t pid) {
  PerfSideband made;
  PerfMapping mapping;
  made.row.kind = SidebandKind::kMap;
  made.row.pid = pid;
  if (!parse_range(next_word(line), made.row)) return std::nullopt;
  const std::string_view rights = next_word(line);
  if (rights.size() < 4 || rights[2] != 'x') return std::nullopt;
  made.row.file_offset = parse_number(next_word(line), 16).value_or(0);
  parse_device(next_word(line), mapping);
  mapping.inode = parse_number(next_word(line)).value_or(0);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  mapping.file = line.empty() ? "//anon" : std::string(line);
  if (line == "[vsyscall]") return std::nullopt;  // runs no instruction since Linux 5.3
  made.mapping = std::move(mapping);
  return made;
}

std::vector<PerfSideband> read_process(const PerfSystem& system, int32_t pid) {
  std::vector<PerfSideband> rows;
  for (const int32_t tid : threads_of(system, pid)) rows.push_back(name_row(system, pid, tid));
  const auto maps = read_small_file(system.path("/proc/" + std::to_string(pid) + "/maps"), kMostMapsBytes);
  for (const std::string_view line : split_lines(maps ? *maps : std::string_view())) {
    if (auto row = parse_map_line(line, pid)) rows.push_back(*std::move(row));
  }
  return rows;
}

std::vector<int32_t> threads_of(const PerfSystem& system, int32_t pid) {
  return numbered_entries(system.path("/proc/" + std::to_string(pid) + "/task"));
}

std::vector<int32_t> all_processes(const PerfSystem& system) {
  return numbered_entries(system.path("/proc"));
}

std::optional<int64_t> number_of_stat(std::string_view stat, size_t index) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(name_end + 1);
  for (size_t before = 0; before < index; ++before) next_word(stat);
  const std::string_view word = next_word(stat);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

namespace {

void append_children(const PerfSystem& system, int32_t pid, size_t most, std::vector<int32_t>& pids) {
  for (const int32_t tid : threads_of(system, pid)) {
    const std::string task = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
    const std::string text = read_small_file(system.path(task + "/children")).value_or("");
    for (size_t at = 0; at < text.size() && pids.size() < most;) {
      const size_t end = std::min(text.find(' ', at), text.size());
      const auto child = parse_number(std::string_view(text).substr(at, end - at));
      if (child && *child <= INT32_MAX) pids.push_back(static_cast<int32_t>(*child));
      at = end + 1;
    }
  }
}

}  // namespace

std::vector<int32_t> with_descendants(const PerfSystem& system, int32_t pid, size_t most) {
  std::vector<int32_t> pids{pid};
  for (size_t i = 0; i < pids.size(); ++i) append_children(system, pids[i], most, pids);
  return pids;
}

}  // namespace fathom::snapshot
