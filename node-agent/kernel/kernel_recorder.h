// KernelRecorder: a flight recorder of what the kernel did with the threads of chosen processes.
//
// Purpose: context switches, wake-ups, system calls, page faults, and lives and names of threads, in one overwriting
// ring per processor; BPF programs write, a snapshot reads what overlaps a window (docs/kernel-events.md). While no
// process is chosen, nothing is attached, and nobody pays. Children by fork() are processes of their own, and not
// chosen. Thread safety: all of it; a snapshot holds no lock while it reads, and any number may be taken at once.
// Ownership: everything in the kernel ends with this object, and with our process. Units: nanoseconds of
// CLOCK_MONOTONIC. Errors: kUnsupported with the cure where the host does not let us (kernel_availability.h); kNotFound
// for no such process; kExhausted beyond kMostChosen. Every loss is counted in the snapshot, and in
// fathom_agent_lost_kernel_events_total.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/result.h"
#include "node-agent/kernel/bpf_programs.h"
#include "node-agent/kernel/choices.h"
#include "node-agent/kernel/events.h"
#include "node-agent/kernel/process_ends.h"

namespace fathom::agent {

struct KernelRecorderOptions {
  uint64_t ring_bytes_per_cpu = 4 << 20;  // rounded down to a power of two; 64 KiB at least, 256 MiB at most
  uint64_t most_ring_bytes = 128 << 20;   // of all: on a host of many processors each has less
  // Their tracepoints make the kernel take a longer way through every system call of every process.
  bool system_calls = true;
};

struct SnapshotRequest {
  uint64_t begin_nano = 0;
  uint64_t end_nano = UINT64_MAX;
  std::vector<ProcessId> processes;  // none: all that are, or were, chosen
  size_t most_events = 256 << 10;    // the newest
};

class KernelRecorder {
 public:
  static Result<std::unique_ptr<KernelRecorder>> create(const KernelRecorderOptions& options = {});

  // Its threads, those to come too, are recorded from now until forget() or its end; again is the same. The first one
  // attaches the programs, which takes some milliseconds; forgetting the last detaches them.
  Result<ProcessId> choose(pid_t pid);
  void forget(const ProcessId& process);
  std::vector<ProcessId> chosen();

  // The wait status of a process that ended while any process was chosen, also of one that was not. No value: not
  // known. Takes no lock.
  std::optional<int> exit_status(const ProcessId& process) const {
    return kernel::find_exit_status(programs_->ends(), process);
  }

  // A system call that overlaps the window is in it, also one that is still under way.
  KernelSnapshot snapshot(const SnapshotRequest& request);

 private:
  explicit KernelRecorder(std::unique_ptr<kernel::BpfPrograms> programs) : programs_(std::move(programs)) {}
  Result<ProcessId> begin(const ProcessId& process);
  void end(const ProcessId& process);
  void drop_cleared();
  void drop_ended();
  void count_losses(KernelLosses& losses);

  const std::unique_ptr<kernel::BpfPrograms> programs_;
  std::mutex mutex_;  // of what is below; never held while rings are read
  kernel::Choices choices_;
  uint64_t no_slot_told_ = 0;
  uint64_t missed_told_ = 0;
};

// Of all recorders since the agent began, those that are not zero, as kernel_loss_name() names them.
std::vector<std::pair<std::string, uint64_t>> kernel_losses();

// Of each ring, by these options and so many processors.
uint64_t ring_bytes_of(const KernelRecorderOptions& options, size_t processors);

}  // namespace fathom::agent
