// kernel_watch: chooses a process, and prints what the kernel did with its threads until told to end.
//
// Purpose: to look at what the recorder sees, and for benchmarks, to have a process chosen by somebody else. It ends
// with SIGTERM or SIGINT, or after --seconds. Exit status: 0; 2 for a wrong command line; 5 when it cannot record.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/time.h"
#include "node-agent/kernel/event_text.h"
#include "node-agent/kernel/kernel_availability.h"
#include "node-agent/kernel/kernel_recorder.h"

namespace fathom::agent {
namespace {

struct WatchOptions {
  pid_t pid = 0;
  double seconds = 0;  // 0: until a signal
  int ready_fd = -1;
  bool quiet = false;
  bool sources = false;
  bool system_calls = true;
};

bool parse(int argc, char** argv, WatchOptions& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--quiet") {
      options.quiet = true;
    } else if (flag == "--sources") {
      options.sources = true;
    } else if (flag == "--no-system-calls") {
      options.system_calls = false;
    } else if (++i == argc) {
      return false;
    } else if (flag == "--pid") {
      options.pid = std::atoi(argv[i]);
    } else if (flag == "--seconds") {
      options.seconds = std::atof(argv[i]);
    } else if (flag == "--ready-fd") {
      options.ready_fd = std::atoi(argv[i]);
    } else {
      return false;
    }
  }
  return options.pid > 0 || options.sources;
}

void wait(const sigset_t& signals, double seconds) {
  timespec time{static_cast<time_t>(seconds), static_cast<long>((seconds - static_cast<time_t>(seconds)) * 1e9)};
  ::sigtimedwait(&signals, nullptr, seconds > 0 ? &time : nullptr);
}

void say_ready(int descriptor) {
  if (descriptor < 0) return;
  if (::write(descriptor, "{}\n", 3) != 3) std::fprintf(stderr, "kernel_watch: nobody reads the ready line\n");
  ::close(descriptor);
}

void print(const KernelSnapshot& snapshot, uint64_t origin_nano) {
  for (const KernelEvent& event : snapshot.events) std::puts(event_text(event, origin_nano).c_str());
  for (const ThreadName& thread : snapshot.threads)
    std::printf("# %d/%d %s\n", thread.pid, thread.tid, thread.name.c_str());
  const KernelLosses& losses = snapshot.losses;
  std::printf("# overwritten %lu torn %lu left_out %lu no_slot %lu missed %lu, complete from %.3f us\n",
              losses.overwritten, losses.torn, losses.left_out, losses.no_slot, losses.missed,
              (static_cast<double>(snapshot.complete_from_nano) - static_cast<double>(origin_nano)) / 1e3);
}

int fail(const Error& error) {
  std::fprintf(stderr, "kernel_watch: %s\n", error.message.c_str());
  return 5;
}

int watch(const WatchOptions& options) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : {SIGTERM, SIGINT}) sigaddset(&signals, number);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  auto recorder = KernelRecorder::create({.system_calls = options.system_calls});
  if (!recorder) return fail(recorder.error());
  const uint64_t origin_nano = now_monotonic_nano();
  Result<ProcessId> process = (*recorder)->choose(options.pid);
  if (!process) return fail(process.error());
  say_ready(options.ready_fd);
  wait(signals, options.seconds);
  if (options.quiet) return 0;
  print((*recorder)->snapshot({.begin_nano = origin_nano, .processes = {*process}}), origin_nano);
  return 0;
}

int run(int argc, char** argv) {
  WatchOptions options;
  if (!parse(argc, argv, options)) {
    std::fprintf(
        stderr,
        "usage: kernel_watch --pid PID [--seconds S] [--no-system-calls] [--quiet] [--ready-fd N] | --sources\n");
    return 2;
  }
  if (!options.sources) return watch(options);
  std::fputs(availability_json(kernel_availability()).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace fathom::agent

int main(int argc, char** argv) {
  return fathom::agent::run(argc, argv);
}
