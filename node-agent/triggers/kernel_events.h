// KernelEvents: which processes the kernel recorder follows, and why it follows none.
//
// Purpose: KernelRecorder as the agent uses it. What it costs: some 280 ns for each system call of a chosen process,
// and half of that for those of all others while anybody is chosen (docs/kernel-events.md); so by default nobody is,
// but for the time of a request. The recorder is made when the first process is chosen. Thread safety: all of it; a
// call may take some milliseconds, so not on the loop. Errors: as texts for people, in what a capture lacks.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "node-agent/kernel/kernel_recorder.h"

namespace fathom::agent {

enum class KernelEventsMode {
  kOff,        // never
  kRequested,  // while a request waits for its window
  kTraced,     // of all programs that record events
};

class KernelEvents {
 public:
  explicit KernelEvents(KernelEventsMode mode) : mode_(mode) {}

  KernelEventsMode mode() const { return mode_; }
  // For each choose() one forget().
  void choose(const ProcessId& process);
  void forget(const ProcessId& process);
  // Nothing: `missing` says why.
  std::optional<KernelSnapshot> snapshot(const ProcessId& process, uint64_t begin_nano, uint64_t end_nano,
                                         std::string& missing);

 private:
  struct Chosen {
    ProcessId process;
    int times = 0;
    std::string failure;  // empty: it is followed
  };
  Chosen* find(const ProcessId& process);
  std::string follow(const ProcessId& process);

  const KernelEventsMode mode_;
  std::mutex mutex_;
  std::unique_ptr<KernelRecorder> recorder_;
  std::string failure_;  // why there is no recorder
  std::vector<Chosen> chosen_;
};

}  // namespace fathom::agent
