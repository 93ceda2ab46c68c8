// SymbolTrigger: a snapshot when an instruction is about to run, by the processor's own breakpoints.
//
// Purpose: "a symbol is reached" as a trigger, without changing the program. One breakpoint per CPU (of the node's
// four) wakes whoever polls; where the kernel can (Linux 6.13 and a whole-node recording), the breakpoint itself pauses
// Intel PT on its CPU, in the kernel, before anybody is woken: then nothing of the window is overwritten while the
// recorder wakes up. Thread safety: one thread. Ownership: its events; the recorder must outlive it. Errors: those of
// obstacles.h. Source of the idea: magic-trace's trigger symbols; aux_pause of perf_event_open(2).
//
// Use: arm(); poll poll_events(); fired() says who and when, and disarms; PtRecorder::take(); rearm().
#pragma once

#include <linux/perf_event.h>
#include <poll.h>

#include <optional>
#include <vector>

#include "base/result.h"
#include "snapshot/record/pt/pt_recorder.h"

namespace fathom::snapshot {

// Bits of perf_event_attr::aux_action, which headers older than Linux 6.13 call reserved.
inline constexpr uint32_t kAuxPause = 2;
inline constexpr uint32_t kAuxResume = 4;

struct SymbolFired {
  uint64_t tsc = 0;
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
};

class SymbolTrigger {
 public:
  // `address` is one of `pids` (empty: of the kernel, or of whatever runs on the node).
  static Result<SymbolTrigger> arm(PerfSystem& system, const PtRecorder& recorder, const std::vector<int32_t>& pids,
                                   uint64_t address);

  std::vector<pollfd> poll_events() const;
  // The first that came, since arm() or rearm().
  std::optional<SymbolFired> fired();
  Result<> rearm();
  bool pauses_in_kernel() const { return !resumers_.empty(); }

 private:
  struct Watch {
    int32_t cpu;
    std::vector<PerfEvent> breakpoints;  // the first has the ring
    RecordRing ring;
  };

  Result<> watch(PerfSystem& system, const CpuRing& ring, const std::vector<int32_t>& tids, uint64_t address);
  bool open_pausing(PerfSystem& system, const CpuRing& ring, uint64_t address);
  Result<> open_waking(PerfSystem& system, int32_t cpu, const std::vector<int32_t>& tids, uint64_t address);
  void disarm();
  void resume_paused();

  PerfSystem* system_ = nullptr;
  Timing timing_;
  std::vector<Watch> watches_;
  std::vector<PerfEvent> resumers_;  // ticks that let paused recording go on
};

}  // namespace fathom::snapshot
