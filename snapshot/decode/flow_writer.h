// FlowWriter: what a decoder writes to: items by the hundred for an analysis, and the count of them.
//
// Thread safety: none, one per part. Ownership: refers to the part that it feeds.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "snapshot/decode/analysis.h"

namespace fathom::snapshot {

class FlowWriter {
 public:
  explicit FlowWriter(FlowPart& part) : part_(part) {}

  // The place of the next item; blocks are written in place.
  FlowItem& next() {
    if (used_ == items_.size()) flush();
    return items_[used_++];
  }
  void put(const FlowItem& item) { next() = item; }

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

  void flush() {
    if (used_ > 0) part_.take({items_.data(), used_});
    used_ = 0;
  }

  DecodeSummary summary;

 private:
  FlowPart& part_;
  size_t used_ = 0;
  // Small enough to stay in the processor's first cache on its way to the analysis.
  std::array<FlowItem, 512> items_;
};

}  // namespace fathom::snapshot
