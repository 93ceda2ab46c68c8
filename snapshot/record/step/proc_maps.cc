#include "snapshot/record/step/proc_maps.h"

#include <charconv>
#include <optional>

#include "base/fd.h"

namespace fathom::snapshot::step {
namespace {

// Takes a number in hex off the front, and the character behind it.
std::optional<uint64_t> take_hex(std::string_view& line, char behind, int base = 16) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, base);
  const auto size = static_cast<size_t>(end - line.data());
  if (error != std::errc() || size >= line.size() || *end != behind) return std::nullopt;
  line.remove_prefix(size + 1);
  return value;
}

std::optional<MappedFile> parse_line(std::string_view line) {
  MappedFile map;
  const auto begin = take_hex(line, '-');
  const auto end = begin ? take_hex(line, ' ') : std::nullopt;
  if (!end || line.size() < 5) return std::nullopt;
  map.writable = line[1] == 'w';
  map.executable = line[2] == 'x';
  line.remove_prefix(5);
  const auto offset = take_hex(line, ' ');
  const auto major = offset ? take_hex(line, ':') : std::nullopt;
  const auto minor = major ? take_hex(line, ' ') : std::nullopt;
  if (!minor) return std::nullopt;
  std::string inode_text(line.substr(0, line.find(' ')));
  inode_text += ' ';
  std::string_view inode_view = inode_text;
  const auto inode = take_hex(inode_view, ' ', 10);
  if (!inode) return std::nullopt;
  const size_t path_at = line.find_first_not_of(' ', inode_text.size() - 1);
  if (path_at != std::string_view::npos) map.path = line.substr(path_at);
  map.begin = *begin;
  map.end = *end;
  map.file_offset = *offset;
  map.device = *major << 32 | *minor;
  map.inode = *inode;
  return map;
}

}  // namespace

std::vector<MappedFile> parse_maps(std::string_view text) {
  std::vector<MappedFile> maps;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (auto map = parse_line(text.substr(0, end))) maps.push_back(std::move(*map));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return maps;
}

std::string read_proc_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[16384];
  while (file.open()) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

std::vector<MappedFile> read_maps(pid_t pid) {
  return parse_maps(read_proc_file("/proc/" + std::to_string(pid) + "/maps"));
}

}  // namespace fathom::snapshot::step
