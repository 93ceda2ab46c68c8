// AuxArea: the packets of one CPU, in an area that overwrites its oldest part (perf's snapshot mode).
//
// Purpose: what a stopped area holds, and in which order. The kernel writes `aux_head` only when the event stops, and
// there it is a mere offset of the area: how often it went around is not said. Whether it ever did is told so: the area
// is mapped full of zeros, so as long as its last page is all zeros behind the head, nothing was written there. Packets
// are never a page of zeros (a PSB comes at the latest after the PSB period, and what stands between is TNT, TIP and
// times), and a head that moved backwards has gone around, too. Once it has, it is remembered: nothing makes an area
// young again. A head of 0 in an area that was never filled is thus empty, and in one that was, full. Thread safety:
// one thread. Ownership: the mapped pages. Source of the idea: linux/perf_event.h on aux_head.
#pragma once

#include "base/result.h"
#include "snapshot/record/pt/perf_system.h"
#include "snapshot/record/pt/ring_view.h"

namespace fathom::snapshot {

class AuxArea {
 public:
  AuxArea() = default;
  // `page` is the first page of the event's record ring (RecordRing), `bytes` a power of two.
  static Result<AuxArea> map(PerfSystem& system, int event, perf_event_mmap_page& page, uint64_t record_bytes,
                             uint64_t bytes);

  // Only while the event is stopped, and until it starts again.
  RingView stopped();
  bool wrapped() const { return wrapped_; }

 private:
  bool written_behind(uint64_t head) const;

  PerfArea area_;
  perf_event_mmap_page* page_ = nullptr;
  uint64_t head_ = 0;
  bool wrapped_ = false;
};

}  // namespace fathom::snapshot
