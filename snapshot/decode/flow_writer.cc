#include "snapshot/decode/flow_writer.h"

#include <algorithm>
#include <span>

namespace fathom::snapshot {
namespace {

constexpr size_t kRoom = 512;  // stays in the processor's first cache on its way to the analysis
constexpr size_t kMostRoom = 1 << 16;
// Of a short packet.
constexpr uint64_t kMostBranches = 6;

bool takes_branch(const FlowItem& item) {
  return item.kind == FlowKind::kBlock && (item.end == BlockEnd::kConditionalJump || item.end == BlockEnd::kReturn);
}

}  // namespace

FlowWriter::FlowWriter(FlowPart& part, bool estimate) : part_(part), estimate_(estimate), items_(kRoom) {}

void FlowWriter::flush() {
  end_run();
  hand_over(used_);
}

void FlowWriter::hand_over(size_t items) {
  const std::span<const FlowItem> all(items_);
  for (size_t at = 0; at < items; at += kRoom) part_.take(all.subspan(at, std::min(kRoom, items - at)));
  std::copy(items_.begin() + static_cast<ptrdiff_t>(items), items_.begin() + static_cast<ptrdiff_t>(used_),
            items_.begin());
  used_ -= items;
  run_ -= std::min(run_, items);
  told_ -= std::min(told_, items);
}

void FlowWriter::make_room() {
  if (run_ == 0 && estimate_ && items_.size() < kMostRoom) return items_.resize(items_.size() * 2);
  if (run_ == 0) {
    end_run();
    too_long_ = true;
  }
  hand_over(run_);
  if (used_ < kRoom) items_.resize(kRoom);
}

void FlowWriter::end_run() {
  settle(0);
  by_branches_ = too_long_ = false;
}

void FlowWriter::settle(uint64_t tsc) {
  run_ = told_ = used_;
  from_tsc_ = tsc;
}

void FlowWriter::time_goes_on(uint64_t tsc) {
  const bool by_branches = used_ > 0 && takes_branch(items_[used_ - 1]);
  if (!estimate_ || too_long_) {
    settle(0);
  } else if (told_ < used_) {
    estimate(tsc, by_branches);
  } else if (run_ < used_ && !by_branches) {
    spread(run_, used_, from_tsc_, tsc);
    settle(tsc);
  }
  by_branches_ = by_branches;
  too_long_ = false;
}

void FlowWriter::estimate(uint64_t next, bool next_by_branches) {
  const uint64_t told = items_[told_].tsc;
  if (told == 0) return settle(0);
  uint64_t branches = 0;
  for (size_t i = told_; i < used_; ++i) branches += takes_branch(items_[i]);
  const bool few = branches <= kMostBranches;
  if (!by_branches_) from_tsc_ = told;
  if (few && next_by_branches && !by_branches_) {
    told_ = used_;  // goes on until what comes next is over
  } else if (few && by_branches_) {
    if (from_tsc_ != 0) spread(run_, used_, from_tsc_, told);
    settle(told);
  } else {
    const uint64_t half_a_packet = few ? 0 : (next - told) / branches * (kMostBranches / 2);
    const uint64_t begin =
        by_branches_ && from_tsc_ != 0 ? std::max(from_tsc_, told - std::min(told, half_a_packet)) : told;
    const uint64_t end = next_by_branches ? next - half_a_packet : next;
    spread(run_, told_, from_tsc_, begin);
    spread(told_, used_, begin, end);
    settle(end);
  }
}

void FlowWriter::spread(size_t first, size_t last, uint64_t from_tsc, uint64_t to_tsc) {
  uint64_t instructions = 0, before = 0;
  for (size_t i = first; i < last; ++i) instructions += items_[i].count;
  const double each = static_cast<double>(to_tsc - from_tsc) / static_cast<double>(std::max<uint64_t>(instructions, 1));
  for (size_t i = first; i < last; ++i) {
    items_[i].tsc = from_tsc + static_cast<uint64_t>(static_cast<int64_t>(each * static_cast<double>(before)));
    before += items_[i].count;
  }
}

}  // namespace fathom::snapshot
