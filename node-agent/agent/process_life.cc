#include "node-agent/agent/process_life.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>

#include "base/fd.h"

namespace fathom::agent {

namespace {

// proc(5): state is the 3rd field, num_threads the 20th, starttime the 22nd.
constexpr int kFieldsFromStateToThreads = 17;
constexpr int kFieldsFromThreadsToStart = 2;

constexpr size_t kMostMappings = 4096;

// Lines as proc(5) has them: "begin-end perms offset device inode path". 0: of no file.
uint64_t inode_of(std::string_view line) {
  for (int i = 0; i < 4; ++i) line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
  uint64_t inode = 0;
  std::from_chars(line.data(), line.data() + line.size(), inode);
  return inode;
}

Life life_after_fault() {
  return errno == ENOENT || errno == ESRCH ? Life::kGone : Life::kUnknown;
}

// Fills `started_ticks` when it is alive.
Life look_at(pid_t pid, uint64_t& started_ticks) {
  std::string path = "/proc/" + std::to_string(pid) + "/stat";
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return life_after_fault();
  char text[1024];
  ssize_t size = ::read(file.get(), text, sizeof text);
  if (size < 0) return life_after_fault();
  std::optional<ProcessStat> stat = parse_process_stat({text, static_cast<size_t>(size)});
  if (!stat) return Life::kUnknown;
  started_ticks = stat->started_ticks;
  return stat->runs() ? Life::kAlive : Life::kGone;
}

bool skip_fields(std::string_view& text, int count) {
  for (int i = 0; i < count; ++i) {
    size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return false;
    text.remove_prefix(blank + 1);
  }
  return true;
}

bool read_number(std::string_view text, uint64_t& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc{};
}

}  // namespace

// The name, in parentheses, may hold anything, parentheses too.
std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return std::nullopt;
  std::string_view rest = text.substr(name_end + 2);
  ProcessStat stat{.state = rest[0], .threads = 0, .started_ticks = 0};
  bool whole = skip_fields(rest, kFieldsFromStateToThreads) && read_number(rest, stat.threads) &&
               skip_fields(rest, kFieldsFromThreadsToStart) && read_number(rest, stat.started_ticks);
  return whole ? std::optional(stat) : std::nullopt;
}

ProcessId identify_process(pid_t pid) {
  if (pid <= 0) return {};
  ProcessId process{.pid = pid};
  return look_at(pid, process.started_ticks) == Life::kAlive ? process : ProcessId{};
}

Life life_of(const ProcessId& process) {
  if (!process.known()) return Life::kUnknown;
  uint64_t started_ticks = 0;
  Life life = look_at(process.pid, started_ticks);
  return life == Life::kAlive && started_ticks != process.started_ticks ? Life::kGone : life;
}

std::optional<bool> maps_inode(pid_t pid, uint64_t inode) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::string line;
  size_t lines = 0;
  for (; lines < kMostMappings && std::getline(maps, line); ++lines) {
    if (inode_of(line) == inode) return true;
  }
  if (lines == 0 || lines == kMostMappings) return std::nullopt;
  return false;
}

}  // namespace fathom::agent
