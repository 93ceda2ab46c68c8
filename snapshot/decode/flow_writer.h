// FlowWriter: what a decoder writes to: items by the hundred for an analysis, the count of them, and times between
// times.
//
// Purpose: packets tell time now and then, and items get the last one that was told. When the next is told, what ran
// since is spread between the two, evenly by instructions (time_goes_on()); the items of a run, from one time to the
// next, wait here until then. A packet of conditional branches comes before the first of them, and its time is that of
// the last, or of something between: so a few branches lie before the time that they were told, and many begin half a
// packet before it. A run that is longer than the room keeps the time at its beginning. Thread safety: none, one per
// part. Ownership: refers to the part that it feeds. Memory: 2 MiB at most.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/decode/analysis.h"

namespace fathom::snapshot {

class FlowWriter {
 public:
  // `estimate`: times between those that packets tell; else items keep the one before.
  FlowWriter(FlowPart& part, bool estimate);

  // The place of the next item; blocks are written in place.
  FlowItem& next() {
    if (used_ == items_.size()) make_room();
    return items_[used_++];
  }
  void put(const FlowItem& item) {
    next() = item;
    if (item.kind != FlowKind::kInterrupt && item.kind != FlowKind::kMark) end_run();
  }

  void gap(GapReason reason, uint64_t ip, uint64_t tsc, std::string_view cause) {
    FlowItem item;
    item.kind = FlowKind::kGap;
    item.reason = reason;
    item.ip = ip;
    item.tsc = tsc;
    put(item);
    ++summary.gap_total;
    GapCount& count = summary.gaps[reason];
    if (count.count++ > 0) return;
    count.first_ip = ip;
    count.first_cause = cause;
  }

  // Packets told a later time: of what comes next.
  void time_goes_on(uint64_t tsc);
  // What comes next has nothing to do with what was before.
  void end_run();

  void flush();

  DecodeSummary summary;

 private:
  void make_room();
  void hand_over(size_t items);
  void estimate(uint64_t next, bool next_by_branches);
  void spread(size_t first, size_t last, uint64_t from_tsc, uint64_t to_tsc);
  void settle(uint64_t tsc);

  FlowPart& part_;
  const bool estimate_;
  size_t used_ = 0;
  size_t run_ = 0;            // where the items begin whose times may still change,
  size_t told_ = 0;           // and of those the ones that have the time that was told last
  uint64_t from_tsc_ = 0;     // up to when those before were spread; 0: they have nothing to do with the run
  bool by_branches_ = false;  // the last time came with a packet of branches, as far as is to be seen
  bool too_long_ = false;     // the run's beginning was handed over already
  std::vector<FlowItem> items_;
};

}  // namespace fathom::snapshot
