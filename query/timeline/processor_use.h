// ProcessorUse: when threads of a captured process had which processor.
//
// Purpose: a thread that leaves a processor although it would run on was preempted, or the CPU quota of its control
// group was used up. The kernel's events do not say which, and captures do not record quotas. A thread of the same
// process that runs on that processor proves that the quota is not used up there: threads of a process share a control
// group (threaded groups aside). So a wait counts as preemption only where such threads had the processor for all of
// it. Gaps of less than 100 us do not count: threads of the kernel run for so long. The turns of all threads are read
// when they are first asked for: most captures have no such wait. Thread safety: none. Ownership: none: content and
// meter outlive it. Units: nanoseconds of the node's CLOCK_MONOTONIC. What it takes is told to `meter`.
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
  ProcessorUse() = default;  // of no process: nothing was preempted for certain
  ProcessorUse(const capture::Capture& content, Meter& meter) : content_(&content), meter_(&meter) {}

  // Of one thread of the process, as thread_states() gives them: which waits were preemption for certain.
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
  std::map<uint16_t, std::vector<Turn>> turns_;  // of each processor, by time
};

}  // namespace fathom::query
