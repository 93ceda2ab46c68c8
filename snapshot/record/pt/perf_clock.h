// PerfClock: how perf's clock and the time-stamp counter relate, measured where the kernel does not say.
//
// Purpose: records have perf's time, packets have ticks. On most hosts the ring's page has the conversion
// (RecordRing::conversion()); where the kernel's clock is a hypervisor's, it has not. Then this process names itself as
// it is called already, which makes a record, and reads the counter before and behind it. The line through the first
// such moment and the newest is good to microseconds, the better the longer ago the first was. Thread safety: one
// thread; it must not be renamed meanwhile. Errors: those of obstacles.h.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "snapshot/format/snapshot.h"
#include "snapshot/record/pt/record_ring.h"

namespace fathom::snapshot {

class PerfClock {
 public:
  // Takes a twentieth of a second.
  static Result<PerfClock> open(PerfSystem& system);

  // The conversion as it is known by now, in the fields of `timing` that are for it.
  void refresh(Timing& timing);

 private:
  struct Moment {
    uint64_t tsc = 0;
    uint64_t time_nano = 0;
  };
  Moment look();
  Moment look_once(uint64_t& took_ticks);

  PerfSystem* system_ = nullptr;
  PerfEvent event_;
  RecordRing ring_;
  Moment first_;
};

}  // namespace fathom::snapshot
