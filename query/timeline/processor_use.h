// ProcessorUse: the times at which threads of a captured process ran on each processor.
//
// Purpose: tell preemption from CPU quotas. A thread that leaves a processor although it is runnable was preempted, or
// the CPU quota of its control group was used up; the kernel's events do not say which, and captures do not record
// quotas. If a thread of the same process runs on that processor, the quota is not used up there, because threads of a
// process share a control group (except threaded groups). So a wait is preemption only if such threads had the
// processor for all of it. Gaps of less than 100 us are ignored: kernel threads run for so long. Turns are read on
// first use: most captures have no such wait. Thread safety: none. Ownership: content and meter must outlive it. Units:
// nanoseconds of the node's CLOCK_MONOTONIC. Work and memory are charged to `meter`.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "capture/capture.h"
#include "query/timeline/meter.h"
#include "query/timeline/thread_states.h"

namespace fathom::query {

class ProcessorUse {
 public:
  ProcessorUse() = default;  // without a process, no wait counts as preemption
  ProcessorUse(const capture::Capture& content, Meter& meter) : content_(&content), meter_(&meter) {}

  // Marks the waits of one thread that were certainly preemption. `states`: from thread_states(), of the same process.
  void find_preempted(std::vector<StateInterval>& states);

 private:
  struct Turn {
    uint64_t begin_nano = 0;
    uint64_t end_nano = 0;
  };

  void read_turns();
  void add_turns(const capture::Thread& thread);
  void join_turns();
  bool is_by_own_process(const StateInterval& state) const;
  bool was_used(uint16_t cpu, uint64_t begin_nano, uint64_t end_nano) const;

  const capture::Capture* content_ = nullptr;
  Meter* meter_ = nullptr;
  bool is_read_ = false;
  std::map<uint16_t, std::vector<Turn>> turns_;  // by processor; turns by time
};

}  // namespace fathom::query
