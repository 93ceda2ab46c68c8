#include "snapshot/record/pt/system_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/fd.h"

namespace fathom::snapshot {
namespace {

constexpr int32_t kMostCpu = 65535;

bool append_range(std::string_view text, std::vector<int32_t>& cpus) {
  const size_t dash = text.find('-');
  const auto first = parse_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1));
  if (!first || !last || *first > *last || *last > kMostCpu) return false;
  for (uint64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int32_t>(cpu));
  return true;
}

}  // namespace

std::optional<std::string> read_small_file(const std::string& path, size_t most_bytes) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return std::nullopt;
  std::string text;
  char buffer[4096];
  while (text.size() < most_bytes) {
    const ssize_t got = ::read(file.get(), buffer, std::min(sizeof buffer, most_bytes - text.size()));
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::optional<uint64_t> parse_number(std::string_view text, int base) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::vector<int32_t>> parse_cpu_list(std::string_view text) {
  std::vector<int32_t> cpus;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (!append_range(text.substr(0, comma), cpus)) return std::nullopt;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return cpus;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<int32_t> numbered_entries(const std::string& directory) {
  std::vector<int32_t> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const auto number = parse_number(entry.path().filename().string());
    if (number && *number <= INT32_MAX) numbers.push_back(static_cast<int32_t>(*number));
  }
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace fathom::snapshot
