#include "snapshot/view/call_index.h"

#include <algorithm>

#include "snapshot/decode/call_machine.h"
#include "snapshot/decode/call_part.h"

namespace fathom::snapshot {

namespace {
constexpr uint64_t kItemsBetweenLooks = 512;
constexpr size_t kCompactFrom = 1 << 16;
}  // namespace

class CallIndexBuilder {
 public:
  CallIndexBuilder(CallIndex& index, const PackedFlow& flow, CallFunctions& functions, int32_t pid, uint64_t most)
      : index_(index), flow_(flow), pid_(pid), cache_(functions), machine_(cache_, pid, true, nullptr, &slices_) {
    slices_.most = 2 * most;
  }

  void build() {
    for (PackedFlow::Cursor at = flow_.begin(); !at.ended(); at.next()) take(at.item(), at);
    end_break(flow_.last_tsc(), flow_.rows());
    index_.left_out_ += slices_.dropped / 2;
    balance_slices(
        slices_,
        [&](size_t event, uint64_t tsc, const CallFunction* function, bool uncalled) {
          begin_call(event, tsc, function, uncalled);
        },
        [&](size_t event) { end_call(event); });
  }

 private:
  // Where the flow was when an event was noted.
  struct Place {
    uint32_t row;
    uint32_t instructions : 31;
    uint32_t at_entry : 1;
  };
  struct Open {
    Call call;
    uint32_t instructions_before;
    uint32_t of_children;
  };

  void take(const FlowItem& item, const PackedFlow::Cursor& at) {
    if (at.number() % kItemsBetweenLooks == 0) look(item.tsc);
    take_break(item, at.row());
    if (item.kind == FlowKind::kThread) {
      turn_begins(item) ? machine_.switch_in(item.tsc) : machine_.switch_out(item.tsc);
    } else {
      machine_.take({&item, 1});
    }
    while (places_.size() < slices_.events.size()) {
      const CallFunction* function = slices_.events[places_.size()].function;
      const bool at_entry = function != nullptr && (function->begin == item.ip || function->entry == item.ip);
      places_.push_back({static_cast<uint32_t>(at.row()), instructions_ & 0x7fffffff, at_entry});
    }
    if (item.kind == FlowKind::kBlock) instructions_ += item.count;
  }

  void look(uint64_t tsc) {
    cache_.at(pid_, tsc);
    if (machine_.tree().size() < compact_at_) return;
    machine_.compact();
    compact_at_ = std::max(kCompactFrom, machine_.tree().size() * 2);
  }

  void take_break(const FlowItem& item, uint64_t row) {
    const bool stops = item.kind == FlowKind::kGap || item.kind == FlowKind::kPause ||
                       (item.kind == FlowKind::kThread && !turn_begins(item));
    if (!stops) {
      const bool goes_on = item.kind == FlowKind::kBlock || item.kind == FlowKind::kResume;
      if (goes_on) end_break(item.tsc, row);
      return;
    }
    if (!broken_) index_.breaks_.push_back({item.tsc, item.tsc, static_cast<uint32_t>(row), 0, item.reason});
    broken_ = true;
    GapReason& gap = index_.breaks_.back().gap;
    if (gap == GapReason::kNone) gap = item.reason;
  }

  void end_break(uint64_t tsc, uint64_t row) {
    if (!broken_) return;
    broken_ = false;
    index_.breaks_.back().end = tsc;
    index_.breaks_.back().end_row = static_cast<uint32_t>(row);
  }

  void begin_call(size_t event, uint64_t tsc, const CallFunction* function, bool uncalled) {
    Open open{};
    open.call.start = tsc;
    open.call.first_row = places_[event].row;
    open.call.function = function->id;
    const bool on_floor = event > 0 && slices_.events[event - 1].floor && !places_[event].at_entry;
    open.call.began_before = uncalled || on_floor;
    open.instructions_before = places_[event].instructions;
    open_.push_back(open);
    if (index_.functions_.size() <= function->id) index_.functions_.resize(function->id + 1);
    index_.functions_[function->id] = function;
  }

  void end_call(size_t event) {
    Open open = open_.back();
    open_.pop_back();
    Call& call = open.call;
    call.ended_after = event == places_.size();
    const bool to_the_end = call.ended_after && slices_.dropped == 0;
    const size_t last = std::min(event, places_.size() - 1);
    call.end = std::max(call.start, to_the_end ? flow_.last_tsc() : slices_.events[last].tsc);
    call.end_row = to_the_end ? static_cast<uint32_t>(flow_.rows()) : places_[last].row;
    call.instructions = (to_the_end ? instructions_ : places_[last].instructions) - open.instructions_before;
    call.self_instructions = call.instructions - open.of_children;
    if (!open_.empty()) open_.back().of_children += call.instructions;
    keep(call, open_.size());
  }

  void keep(const Call& call, size_t depth) {
    if (call.end_row <= call.first_row) return;
    if (depth >= CallIndex::kMostDepths) {
      ++index_.left_out_;
      return;
    }
    if (index_.depths_.size() <= depth) index_.depths_.resize(depth + 1);
    index_.depths_[depth].push_back(call);
    ++index_.calls_;
  }

  CallIndex& index_;
  const PackedFlow& flow_;
  const int32_t pid_;
  Slices slices_;
  CallFunctionCache cache_;
  CallMachine machine_;
  std::vector<Place> places_;
  std::vector<Open> open_;
  uint32_t instructions_ = 0;
  size_t compact_at_ = kCompactFrom;
  bool broken_ = false;
};

CallIndex::CallIndex(const PackedFlow& flow, CallFunctions& functions, int32_t pid, uint64_t most_calls) {
  CallIndexBuilder(*this, flow, functions, pid, most_calls).build();
  for (auto& calls : depths_) calls.shrink_to_fit();
}

const Call* CallIndex::at(size_t depth, uint64_t row) const {
  const std::vector<Call>& calls = depths_[depth];
  const auto found = std::ranges::partition_point(calls, [&](const Call& call) { return call.end_row <= row; });
  return found == calls.end() || found->first_row > row ? nullptr : &*found;
}

size_t CallIndex::depth_at(uint64_t row) const {
  size_t depth = 0;
  while (depth < depths_.size() && at(depth, row) != nullptr) ++depth;
  return depth;
}

}  // namespace fathom::snapshot
