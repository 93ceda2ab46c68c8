// The rules of the stack, as call_machine.h tells them.
#include <algorithm>
#include <cassert>

#include "snapshot/decode/call_machine.h"

namespace fathom::snapshot {

namespace {

// How far down a stack is believed, and how much of it is kept: a damaged recording has no end of calls.
constexpr size_t kMostSearched = 4096;
constexpr size_t kMostFloors = 8;
constexpr size_t kMostFrames = size_t{1} << 18;
constexpr uint64_t kLongestInstruction = 15;

bool is_kernel(uint64_t ip) {
  return ip >> 63 != 0;
}

}  // namespace

template <typename Wanted>
size_t CallMachine::search(size_t from, Wanted wanted) const {
  size_t floors = 0;
  for (size_t searched = 0; searched < kMostSearched && from < now_.frames.size(); ++searched, --from) {
    const Frame& frame = now_.frames[from];
    if (frame.kind == FrameKind::kFloor && ++floors > kMostFloors) break;
    if (wanted(frame)) return from;
  }
  return kNotFound;
}

uint32_t CallMachine::top_node(const CallFunction* place) {
  const Frame& top = now_.frames.back();
  return top.function != nullptr && top.function->place == place->place ? top.node : tree_.child(top.node, place);
}

uint32_t CallMachine::parent_of(const Frame& frame) const {
  return frame.function->stub ? frame.node : tree_[frame.node].parent;
}

bool CallMachine::settle(uint64_t ip, uint64_t tsc) {
  const CallFunction* place = place_of(ip, tsc);
  run_in(top_node(place), place, tsc);
  return true;
}

bool CallMachine::jump(uint64_t ip, uint64_t tsc) {
  const CallFunction* place = place_of(ip, tsc);
  if (place == now_.place) return settle(ip, tsc);
  if (place->starts_at(ip) || now_.place->stub) return tail_call(ip, tsc);
  Frame& top = now_.frames.back();
  const bool stays = top.recent.holds(place->id) || (top.function != nullptr && top.function->place == place);
  if (!stays) return unwind(place, ip, tsc);
  top.recent.use(now_.place->id);
  top.recent.use(place->id);
  return settle(ip, tsc);
}

size_t CallMachine::frame_to_unwind_to(const CallFunction* place, uint64_t ip) const {
  return search(now_.frames.size() - 2, [&](const Frame& below) {
    if (below.function == nullptr || below.function->place != place) return false;
    return place->symbol || below.came_back_to == ip || (&below + 1)->waits_for(ip);
  });
}

bool CallMachine::unwind(const CallFunction* place, uint64_t ip, uint64_t tsc) {
  const size_t frame = frame_to_unwind_to(place, ip);
  if (frame == kNotFound && !known_bottom_) return unsettled(Unsettled::kJump);
  RecentFunctions recent = now_.frames.back().recent;
  recent.use(now_.place->id);
  recent.use(place->id);
  if (frame != kNotFound) pop_to(frame + 1, tsc);
  if (frame != kNotFound || place->symbol) {
    settle(ip, tsc);
  } else {
    tail_call(ip, tsc);
  }
  now_.frames.back().recent = recent;
  return true;
}

bool CallMachine::tail_call(uint64_t ip, uint64_t tsc) {
  Frame& top = now_.frames.back();
  if (top.function == nullptr) return known_bottom_ ? leave_gap(ip, tsc) : unsettled(Unsettled::kTailCall);
  complete(top, tsc);
  const uint32_t parent = parent_of(top);
  if (!top.function->stub) slice(nullptr, tsc);
  top.function = cache_.entered(pid_, tsc, ip);
  top.node = parent;
  top.entered_tsc = tsc;
  top.entry_known = true;
  top.local = false;
  top.recent = {};
  top.came_back_to = 0;
  if (!top.function->stub) {
    slice(top.function, tsc);
    top.node = tree_.child(parent, top.function);
    tree_[top.node].count_call(top.returns_to - 1);  // where the function was called that goes on as this one
  }
  run_in(top.node, top.function, tsc);
  return true;
}

void CallMachine::push(FrameKind kind, const CallFunction* function, uint64_t returns_to, uint64_t tsc) {
  Frame frame;
  frame.kind = kind;
  frame.function = function;
  frame.returns_to = returns_to;
  frame.entered_tsc = tsc;
  frame.entry_known = true;
  frame.node = now_.node;
  if (!function->stub) {
    frame.node = tree_.child(now_.node, function);
    tree_[frame.node].count_call(returns_to - 1);
    slice(function, tsc);
  }
  now_.frames.push_back(frame);
  if (now_.frames.size() > kMostFrames) forget_lowest();
  run_in(frame.node, function, tsc);
}

bool CallMachine::call(uint64_t ip, uint64_t tsc) {
  if (now_.paused && ip - (now_.from + 1) < kLongestInstruction) return settle(ip, tsc);  // the callee was not recorded
  const CallFunction* function = cache_.entered(pid_, tsc, ip);
  const bool local = function->place == now_.place && function->symbol && !function->starts_at(ip);
  push(FrameKind::kCall, function, now_.from + 1, tsc);
  now_.frames.back().local = local;
  return true;
}

bool CallMachine::far_call(uint64_t ip, uint64_t tsc) {
  if (!is_kernel(ip) || is_kernel(now_.from)) return resume_at(ip, tsc);
  push(FrameKind::kFar, cache_.entered(pid_, tsc, ip), now_.from + 1, tsc);
  return true;
}

bool CallMachine::far_return(uint64_t ip, uint64_t tsc) {
  if (now_.next_program == NextProgram::kOther && !is_kernel(ip)) return begin_program(ip, tsc);
  const size_t frame = search(now_.frames.size() - 1,
                              [&](const Frame& below) { return below.kind >= FrameKind::kFar && below.waits_for(ip); });
  if (frame == kNotFound) return known_bottom_ ? leave_kernel(ip, tsc) : unsettled(Unsettled::kAny);
  return_from(frame, tsc);
  return settle(ip, tsc);
}

// The kernel goes elsewhere than where it was called from: into a signal's handler, or to what one interrupted.
bool CallMachine::leave_kernel(uint64_t ip, uint64_t tsc) {
  const CallFunction* place = place_of(ip, tsc);
  const size_t frame = search(now_.frames.size() - 1, [](const Frame& below) { return below.kind >= FrameKind::kFar; });
  if (frame == kNotFound) return return_unmatched(now_.frames.size() - 2, place, ip, tsc);
  const uint64_t returns_to = now_.frames[frame].returns_to;
  return_from(frame, tsc);
  run_in(now_.frames.back().node, place, tsc);
  if (!place->starts_at(ip)) return return_unmatched(now_.frames.size() - 1, place, ip, tsc);
  push_interrupt(ip, returns_to, tsc);
  return true;
}

bool CallMachine::return_to(uint64_t ip, uint64_t tsc) {
  const Frame& top = now_.frames.back();
  const CallFunction* place = place_of(ip, tsc);
  if (place->starts_at(ip)) return return_in_disguise(ip, tsc);
  if (top.waits_for(ip)) return come_back(now_.frames.size() - 1, ip, tsc);
  if (top.kind == FrameKind::kInterrupt) return return_to_restorer(ip, tsc);
  const size_t frame = search(now_.frames.size() - 2, [&](const Frame& below) { return below.waits_for(ip); });
  if (frame == kNotFound) {
    return known_bottom_ ? return_unmatched(now_.frames.size() - 2, place, ip, tsc) : unsettled(Unsettled::kAny);
  }
  return come_back(frame, ip, tsc);
}

bool CallMachine::come_back(size_t frame, uint64_t ip, uint64_t tsc) {
  return_from(frame, tsc);
  now_.frames.back().came_back_to = ip;
  return settle(ip, tsc);
}

bool CallMachine::return_in_disguise(uint64_t ip, uint64_t tsc) {
  const size_t left = now_.frames.size() - (now_.frames.back().local ? 1 : 0);
  if (now_.frames[left - 1].function == nullptr && !known_bottom_) return unsettled(Unsettled::kTailCall);
  pop_to(left, tsc);
  return tail_call(ip, tsc);
}

// A signal's handler returns to the few instructions that ask the kernel to go back.
bool CallMachine::return_to_restorer(uint64_t ip, uint64_t tsc) {
  Frame& top = now_.frames.back();
  complete(top, tsc);
  const uint32_t parent = parent_of(top);
  if (!top.function->stub) slice(nullptr, tsc);
  top.function = place_of(ip, tsc);
  if (!top.function->stub) slice(top.function, tsc);
  top.node = top.function->stub ? parent : tree_.child(parent, top.function);
  top.entry_known = false;
  return settle(ip, tsc);
}

bool CallMachine::return_unmatched(size_t from, const CallFunction* place, uint64_t ip, uint64_t tsc) {
  const size_t frame =
      search(from, [&](const Frame& below) { return below.function != nullptr && below.function->place == place; });
  if (frame == kNotFound) {
    discover(place, tsc);
  } else {
    pop_to(frame + 1, tsc);
  }
  return settle(ip, tsc);
}

void CallMachine::discover(const CallFunction* function, uint64_t tsc) {
  const Frame& left = now_.frames.back();
  if (left.kind == FrameKind::kUncalled && now_.step == FlowStep::kReturn) complete(left, tsc);
  size_t floor = now_.frames.size() - 1;
  while (now_.frames[floor].kind != FrameKind::kFloor) --floor;
  pop_to(floor + 1, tsc);
  if (slices_ != nullptr) slices_->discovered.emplace_back(now_.frames[floor].slice, function);
  Frame frame;
  frame.kind = FrameKind::kUncalled;
  frame.function = function;
  frame.node = now_.frames[floor].node;
  now_.frames[floor].node = tree_.discover(frame.node, function);
  now_.frames.push_back(frame);
}

bool CallMachine::resume_at(uint64_t ip, uint64_t tsc) {
  if (now_.next_program == NextProgram::kOther && !is_kernel(ip)) return begin_program(ip, tsc);
  if (now_.step == FlowStep::kGap) return begin(ip, tsc);
  const uint64_t paused_at = now_.step != FlowStep::kOn || !now_.paused ? now_.from : now_.paused_at;
  if (now_.step == FlowStep::kCall || now_.step == FlowStep::kReturn || now_.step == FlowStep::kFarReturn) {
    return arrive(ip, tsc);
  }
  if (ip - paused_at <= kLongestInstruction) return settle(ip, tsc);
  const CallFunction* place = place_of(ip, tsc);
  if (now_.step == FlowStep::kOn && place == now_.place && !place->starts_at(ip)) return settle(ip, tsc);
  const size_t frame = search(now_.frames.size() - 1, [&](const Frame& below) {
    return below.kind == FrameKind::kInterrupt && below.waits_for(ip);
  });
  if (frame == kNotFound && !known_bottom_) return unsettled(Unsettled::kAny);
  if (frame != kNotFound) {
    return_from(frame, tsc);
    return settle(ip, tsc);
  }
  if (!place->starts_at(ip)) return jump(ip, tsc);
  push_interrupt(ip, paused_at, tsc);
  return true;
}

void CallMachine::push_interrupt(uint64_t ip, uint64_t returns_to, uint64_t tsc) {
  push(FrameKind::kInterrupt, cache_.entered(pid_, tsc, ip), returns_to, tsc);
}

bool CallMachine::leave_gap(uint64_t ip, uint64_t tsc) {
  if (now_.next_program == NextProgram::kOther && !is_kernel(ip)) return begin_program(ip, tsc);
  if (now_.frames.back().kind != FrameKind::kFloor) push_floor(now_.gap, tsc);
  Frame frame;
  frame.kind = FrameKind::kUncalled;
  frame.function = place_of(ip, tsc);
  frame.node = now_.frames.back().node;
  if (!frame.function->stub) {
    frame.node = tree_.child(frame.node, frame.function);
    slice(frame.function, tsc);
  }
  now_.frames.push_back(frame);
  run_in(frame.node, frame.function, tsc);
  return true;
}

bool CallMachine::begin(uint64_t ip, uint64_t tsc) {
  leave_gap(ip, tsc);
  Frame& first = now_.frames.back();
  if (now_.gap != GapReason::kNone || !first.function->starts_at(ip) || first.function->stub) return true;
  first.entry_known = true;
  first.entered_tsc = tsc;
  tree_[first.node].count_call(0);
  return true;
}

void CallMachine::push_floor(GapReason reason, uint64_t tsc) {
  Frame floor;
  floor.kind = FrameKind::kFloor;
  floor.node = tree_.add(CallRole::kFloor, reason);
  if (slices_ != nullptr) {
    floor.slice = static_cast<uint32_t>(slices_->events.size());
    slices_->add({tsc, nullptr, true});
  }
  now_.frames.push_back(floor);
}

void CallMachine::pop_to(size_t size, uint64_t tsc) {
  for (; now_.frames.size() > size; now_.frames.pop_back()) {
    if (now_.frames.back().function != nullptr && !now_.frames.back().function->stub) slice(nullptr, tsc);
  }
}

void CallMachine::return_from(size_t frame, uint64_t tsc) {
  pop_to(frame + 1, tsc);
  complete(now_.frames.back(), tsc);
  pop_to(frame, tsc);
}

void CallMachine::complete(const Frame& frame, uint64_t tsc) {
  if (!frame.entry_known || frame.function->stub) return;
  const uint64_t ticks = tsc > frame.entered_tsc ? tsc - frame.entered_tsc : 0;
  tree_[frame.node].stats.completed(ticks);
  if (sink_ != nullptr) sink_->completed(frame.function, ticks);
}

void CallMachine::forget_lowest() {
  if (now_.frames.size() <= kMostFrames) return;
  now_.frames.erase(now_.frames.begin() + 1, now_.frames.begin() + static_cast<ptrdiff_t>(now_.frames.size() / 2));
}

void CallMachine::slice(const CallFunction* function, uint64_t tsc) {
  if (slices_ != nullptr) slices_->add({tsc, function, false});
}

}  // namespace fathom::snapshot
