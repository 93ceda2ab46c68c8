#include "base/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace fathom {

namespace {

std::optional<double> cpu_seconds() {
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) != 0) return std::nullopt;
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

std::optional<double> open_files() {
  std::error_code error;
  std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return std::nullopt;
  double count = 0;
  for (; files != std::filesystem::directory_iterator(); files.increment(error)) ++count;
  return count - 1;  // the one that this reading takes itself
}

std::optional<double> resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double all = 0, resident = 0;
  if (!(statm >> all >> resident)) return std::nullopt;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// The system counts from its own start: proc(5), /proc/[pid]/stat (22) starttime, and btime of /proc/stat.
std::optional<double> start_seconds() {
  std::ifstream stat("/proc/self/stat");
  std::string text{std::istreambuf_iterator<char>(stat), {}};
  size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  double ticks = 0, booted = 0;
  std::ifstream system("/proc/stat");
  std::string word;
  while (system >> word && word != "btime") {
  }
  if (!(fields >> ticks) || !(system >> booted)) return std::nullopt;
  return booted + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

std::vector<ProcessMetric> process_metrics() {
  static const std::optional<double> started = start_seconds();
  std::vector<ProcessMetric> metrics;
  auto add = [&](const char* name, const char* help, const char* type, std::optional<double> value) {
    if (value) metrics.push_back({name, help, type, *value});
  };
  add("process_cpu_seconds_total", "CPU time, of user and system.", "counter", cpu_seconds());
  add("process_open_fds", "Open file descriptors.", "gauge", open_files());
  add("process_resident_memory_bytes", "Resident memory.", "gauge", resident_bytes());
  add("process_start_time_seconds", "When the process began, in seconds since the epoch.", "gauge", started);
  return metrics;
}

}  // namespace fathom
