#include "query/timeline/processor_use.h"

#include <algorithm>
#include <iterator>

namespace fathom::query {

namespace {

using capture::KernelEvent;
using capture::KernelEventKind;

// Much less than the periods of CPU quotas, which last a millisecond or more.
constexpr uint64_t kShortGapNano = 100'000;

}  // namespace

void ProcessorUse::read_turns() {
  if (is_read_) return;
  is_read_ = true;
  for (const capture::Thread& thread : content_->threads) {
    if (!meter_->step(thread.kernel_events.size())) break;
    if (!meter_->spend(thread.kernel_events.size() / 2 * sizeof(Turn))) break;
    add_turns(thread);
  }
  join_turns();
}

// If the event of a begin or an end is missing, no turn is added.
void ProcessorUse::add_turns(const capture::Thread& thread) {
  const KernelEvent* came = nullptr;
  auto end = [&](uint64_t end_nano) {
    if (came != nullptr && came->monotonic_nano < end_nano)
      turns_[came->cpu].push_back({came->monotonic_nano, end_nano});
  };
  for (const KernelEvent& event : thread.kernel_events) {
    const bool leaves = event.kind == KernelEventKind::kSwitchedOut;
    if (!leaves && event.kind != KernelEventKind::kSwitchedIn) continue;
    if (leaves && came != nullptr && came->cpu == event.cpu) end(event.monotonic_nano);
    came = leaves ? nullptr : &event;
  }
  end(content_->end_nano);
}

void ProcessorUse::join_turns() {
  for (auto& [cpu, turns] : turns_) {
    std::ranges::sort(turns, {}, &Turn::begin_nano);
    size_t kept = 0;
    for (const Turn& turn : turns) {
      if (kept > 0 && turn.begin_nano < turns[kept - 1].end_nano + kShortGapNano) {
        turns[kept - 1].end_nano = std::max(turns[kept - 1].end_nano, turn.end_nano);
      } else {
        turns[kept++] = turn;
      }
    }
    turns.resize(kept);
  }
}

bool ProcessorUse::was_used(uint16_t cpu, uint64_t begin_nano, uint64_t end_nano) const {
  auto turns = turns_.find(cpu);
  if (turns == turns_.end()) return false;
  auto after = std::ranges::upper_bound(turns->second, begin_nano, {}, &Turn::begin_nano);
  return after != turns->second.begin() && std::prev(after)->end_nano + kShortGapNano > end_nano;
}

bool ProcessorUse::is_by_own_process(const StateInterval& state) const {
  const auto pid = content_ == nullptr ? 0 : static_cast<int32_t>(content_->pid);
  return pid != 0 && state.start != nullptr && state.start->other_pid == pid;
}

void ProcessorUse::find_preempted(std::vector<StateInterval>& states) {
  for (StateInterval& state : states) {
    if (state.cause != RunnableCause::kPreemptedOrThrottled || !is_by_own_process(state)) continue;
    read_turns();
    if (was_used(state.start->cpu, state.begin_nano, state.end_nano)) state.cause = RunnableCause::kPreempted;
  }
}

}  // namespace fathom::query
