// perf_watch: records the system calls of one thread as events of perf, until told to end.
//
// Purpose: for bench-kernel, what was not chosen: a flight recorder of perf tracepoints, without BPF. Entries and exits
// go into one ring that overwrites its oldest part, and that nobody reads. tracefs must be mounted. It ends with
// SIGTERM or SIGINT. Exit status: 0; 1 when the ring has no call; 2 for a wrong command line; 5 when it cannot record.
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::agent {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kRingBytes = 4 << 20;  // as the rings of KernelRecorder

Result<uint64_t> number_of_tracepoint(const std::string& name) {
  std::ifstream file("/sys/kernel/tracing/events/" + name + "/id");
  uint64_t number = 0;
  if (!(file >> number)) return not_found("no tracepoint " + name + " (it wants root and tracefs)");
  return number;
}

// With what our records have: the thread, the time of CLOCK_MONOTONIC, what the tracepoint says.
perf_event_attr attributes_of(uint64_t tracepoint) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = tracepoint;
  attributes.sample_period = 1;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.write_backward = 1;  // or a ring that overwrites could not be read
  return attributes;
}

Result<Fd> open_event(const std::string& tracepoint, pid_t tid) {
  const Result<uint64_t> number = number_of_tracepoint(tracepoint);
  if (!number) return number.error();
  perf_event_attr attributes = attributes_of(*number);
  Fd event(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event.open()) return system_error("perf_event_open");
  return event;
}

class PerfRing {
 public:
  PerfRing() = default;
  PerfRing(const PerfRing&) = delete;
  ~PerfRing() {
    if (ring_ != nullptr) ::munmap(ring_, kPageBytes + kRingBytes);
  }

  Result<> open(pid_t tid) {
    Result<Fd> enter = open_event("raw_syscalls/sys_enter", tid);
    if (!enter) return enter.error();
    // Read only, which is what makes it overwrite.
    void* ring = ::mmap(nullptr, kPageBytes + kRingBytes, PROT_READ, MAP_SHARED, enter->get(), 0);
    if (ring == MAP_FAILED) return system_error("mapping a ring of perf events");
    ring_ = ring;
    Result<Fd> exit = open_event("raw_syscalls/sys_exit", tid);
    if (!exit) return exit.error();
    if (::ioctl(exit->get(), PERF_EVENT_IOC_SET_OUTPUT, enter->get()) != 0) return system_error("sharing a ring");
    enter_ = *std::move(enter);
    exit_ = *std::move(exit);
    return {};
  }

  // A ring that is written backwards begins at 0.
  bool has_events() const {
    return __atomic_load_n(&static_cast<const perf_event_mmap_page*>(ring_)->data_head, __ATOMIC_ACQUIRE) != 0;
  }

 private:
  Fd enter_, exit_;
  void* ring_ = nullptr;
};

void say_ready(int descriptor) {
  if (::write(descriptor, "{}\n", 3) != 3) std::fprintf(stderr, "perf_watch: nobody reads the ready line\n");
  ::close(descriptor);
}

int watch(pid_t tid, int ready_fd) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT}) sigaddset(&signals, number);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  PerfRing ring;
  if (Result<> opened = ring.open(tid); !opened) {
    std::fprintf(stderr, "perf_watch: %s\n", opened.error().message.c_str());
    return 5;
  }
  say_ready(ready_fd);
  ::sigwaitinfo(&signals, nullptr);
  if (ring.has_events()) return 0;
  std::fprintf(stderr, "perf_watch: no system call was recorded\n");
  return 1;
}

}  // namespace
}  // namespace fathom::agent

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "--pid") == 0 && std::strcmp(argv[3], "--ready-fd") == 0)
    return fathom::agent::watch(std::atoi(argv[2]), std::atoi(argv[4]));
  std::fprintf(stderr, "usage: perf_watch --pid PID --ready-fd N\n");
  return 2;
}
