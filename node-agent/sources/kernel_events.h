// KernelEvents: the source of kernel events of a process's threads: switches, wake-ups, system calls, faults.
//
// Purpose: two KernelRecorders: one without system calls, for all traced programs, and one with them, while a request
// waits. They differ in cost: system calls cost a chosen process some 280 ns each, and every other process half of
// that; context switches and page faults are rarer (docs/kernel-events.md). A recorder is made when its first process
// is followed. Thread safety: as Source; a call may take some milliseconds, so it must not run on the loop. Errors:
// reported as text in the capture (kernel_missing).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "node-agent/kernel/kernel_recorder.h"
#include "node-agent/sources/source.h"

namespace fathom::agent {

enum class KernelEventsMode {
  kOff,         // never
  kRequested,   // everything, but only while a request waits for its window
  kScheduling,  // as kRequested; also all but system calls of all traced programs
  kTraced,      // everything of all traced programs
};

enum class KernelDepth { kScheduling, kEverything };

// The processes of one recorder. Thread safety: by its owner, except exit_status(): any thread, without a lock.
class FollowedProcesses {
 public:
  explicit FollowedProcesses(const KernelRecorderOptions& options) : options_(options) {}

  void choose(const ProcessId& process);
  void forget(const ProcessId& process);
  // Null: `missing` holds the reason, if the process is followed.
  KernelRecorder* recorder_of(const ProcessId& process, std::string& missing);
  std::optional<int> exit_status(const ProcessId& process) const;

 private:
  struct Followed {
    ProcessId process;
    int times = 0;
    std::string failure;  // empty: it is recorded
  };
  Followed* find(const ProcessId& process);
  std::string follow(const ProcessId& process);

  const KernelRecorderOptions options_;
  std::unique_ptr<KernelRecorder> recorder_;
  std::atomic<const KernelRecorder*> made_ = nullptr;  // recorder_, for exit_status()
  std::string failure_;                                // why there is no recorder
  std::vector<Followed> followed_;
};

class KernelEvents : public Source {
 public:
  // `ring_bytes_per_cpu`: for permanent recording. A recorder for requests only has KernelRecorderOptions' default.
  KernelEvents(KernelEventsMode mode, uint64_t ring_bytes_per_cpu)
      : mode_(mode),
        scheduling_(always(ring_bytes_per_cpu, false)),
        everything_(mode == KernelEventsMode::kTraced ? always(ring_bytes_per_cpu, true) : KernelRecorderOptions{}) {}

  std::string_view name() const override { return "events of the kernel"; }
  std::vector<Availability> availability() const override;
  void follow(const ProcessId& process, FollowReason reason) override;
  void forget(const ProcessId& process, FollowReason reason) override;
  std::unique_ptr<Slice> slice(const SliceRequest& request) override;
  std::optional<int> exit_status(const ProcessId& process) const override;
  std::vector<std::pair<std::string, uint64_t>> losses() const override { return kernel_losses(); }

 private:
  static constexpr uint64_t kMostRingBytes = 1 << 30;  // of all processors
  static KernelRecorderOptions always(uint64_t ring_bytes_per_cpu, bool system_calls) {
    return {.ring_bytes_per_cpu = ring_bytes_per_cpu, .most_ring_bytes = kMostRingBytes, .system_calls = system_calls};
  }
  // How much is recorded of a process that is followed for this reason; no value: nothing is recorded.
  std::optional<KernelDepth> depth_of(FollowReason reason) const;
  FollowedProcesses& of(KernelDepth depth) { return depth == KernelDepth::kEverything ? everything_ : scheduling_; }
  // The recorder of this depth, or the other one if only that follows the process. Null: see `missing`.
  KernelRecorder* recorder_of(const ProcessId& process, KernelDepth depth, std::string& missing);

  const KernelEventsMode mode_;
  std::mutex mutex_;
  FollowedProcesses scheduling_;
  FollowedProcesses everything_;
};

// Writes the events of a snapshot into a capture.
void write_kernel_events(const KernelSnapshot& snapshot, CaptureBuilder& capture);

}  // namespace fathom::agent
