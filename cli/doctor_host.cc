#include <sys/resource.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "cli/doctor_checks.h"
#include "cli/sizes.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kEnoughFiles = 4096;
constexpr uint64_t kEnoughMemory = uint64_t{1} << 30;

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value, in bytes, of a line such as "MemAvailable:   123 kB".
uint64_t memory_line(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    uint64_t kib = 0;
    if (word == name && file >> kib) return kib * 1024;
  }
  return 0;
}

}  // namespace

Finding check_kernel() {
  utsname name{};
  ::uname(&name);
  std::string says = std::string(name.sysname) + " " + name.release + " " + name.machine;
  int major = 0;
  int minor = 0;
  std::sscanf(name.release, "%d.%d", &major, &minor);
  // pidfd_open(), with which children are waited for.
  if (major > 5 || (major == 5 && minor >= 3)) return {"kernel", Health::kOk, says, ""};
  return {"kernel", Health::kWarn, says, "Linux 5.3 or later; 'up' and 'demo' watch their programs less closely here"};
}

Finding check_clock_source() {
  std::string source = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  bool quick = source == "tsc" || source == "kvm-clock" || source == "arch_sys_counter" ||
               source == "hyperv_clocksource_tsc_page";
  if (quick) return {"clock source", Health::kOk, source, ""};
  return {"clock source", Health::kWarn, source.empty() ? "unknown" : source,
          "reading the time may cost a system call here; 'tsc' is best where the processor's is invariant"};
}

Finding check_clock_sync() {
  timex clock{};
  int state = ::adjtimex(&clock);
  bool synchronised = state >= 0 && state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0;
  if (synchronised) return {"clock synchronised", Health::kOk, "yes", ""};
  return {"clock synchronised", Health::kWarn, "no, as far as the kernel knows",
          "run chrony or systemd-timesyncd; spans of several hosts line up only as well as their clocks do"};
}

Finding check_memory() {
  uint64_t available = memory_line("MemAvailable:");
  std::string says =
      format_size(available) + " available, " + std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)) + " CPUs";
  if (available >= kEnoughMemory) return {"memory", Health::kOk, says, ""};
  return {"memory", Health::kWarn, says,
          "the server's budgets add up to about 800 MiB; lower --ingest-memory and --cache"};
}

Finding check_open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  bool unlimited = limit.rlim_max == RLIM_INFINITY;
  std::string says = unlimited ? "unlimited" : "up to " + std::to_string(limit.rlim_max);
  if (unlimited || limit.rlim_max >= kEnoughFiles) return {"open files", Health::kOk, says, ""};
  return {"open files", Health::kWarn, says,
          "raise the hard limit: ulimit -Hn 65536, or LimitNOFILE= in a systemd unit"};
}

}  // namespace fathom::cli
