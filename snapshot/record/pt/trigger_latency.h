// How long it takes from a trigger in a program until the rings stand still.
//
// Purpose: the figure `trigger.to_stopped_us_p99`, on any machine: where there is no Intel PT, a software event stands
// in for it, so everything is measured but the hardware's own stop (a write to a register). The path is the one of a
// snapshot: the program rings the bell (trigger_bell.h), the recorder's thread wakes, and PtRecorder::stop() stops one
// event per CPU, the trigger's first. Thread safety: one call at a time; it forks. Errors: those of PtRecorder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::snapshot {

struct TriggerLatency {
  std::vector<uint64_t> first_nano;  // until the ring of the trigger's CPU stood still
  std::vector<uint64_t> all_nano;    // until all did
  bool real_pt = false;
};

// `count` triggers, a few milliseconds apart. `scratch`: a directory for what the stand-in says of itself.
Result<TriggerLatency> measure_trigger_latency(uint32_t count, const std::string& scratch);

}  // namespace fathom::snapshot
