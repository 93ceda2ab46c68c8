// The machine's state, and what flow items do to it; the rules of the stack are in call_rules.cc.
#include "snapshot/decode/call_machine.h"

#include <algorithm>

namespace fathom::snapshot {

bool RecentFunctions::holds(uint32_t id) const {
  return std::find(ids, ids + count, id) != ids + count;
}

void RecentFunctions::use(uint32_t id) {
  uint32_t* at = std::find(ids, ids + count, id);
  if (at == ids + count && count < kMost) ++count;
  if (at == ids + kMost) --at;
  std::move_backward(ids, at, at + 1);
  ids[0] = id;
}

void RecentFunctions::continue_with(const RecentFunctions& older) {
  for (size_t i = 0; i < older.count && count < kMost; ++i) {
    if (!holds(older.ids[i])) ids[count++] = older.ids[i];
  }
}

CallMachine::CallMachine(CallFunctionCache& cache, int32_t pid, bool known_bottom, CallSink* sink, Slices* slices)
    : cache_(cache), sink_(sink), slices_(slices), pid_(pid), known_bottom_(known_bottom) {
  if (known_bottom_) push_floor(GapReason::kNone, 0);
}

size_t CallMachine::take(std::span<const FlowItem> items) {
  uint64_t within = instructions_;
  for (size_t i = 0; i < items.size(); ++i) {
    const FlowItem& item = items[i];
    if (item.kind == FlowKind::kBlock && now_.step == FlowStep::kOn && item.ip - now_.begin < now_.size) [[likely]] {
      within += item.count;
      end_with(item);
      continue;
    }
    instructions_ = within;
    if (item.kind == FlowKind::kThread || !step(item)) return i;
    within = instructions_;
  }
  instructions_ = within;
  if (now_.size != 0) tree_[now_.node].seen_at = now_.from;
  return items.size();
}

void CallMachine::end_with(const FlowItem& item) {
  static constexpr FlowStep kSteps[] = {FlowStep::kOn, FlowStep::kCall,    FlowStep::kReturn,    FlowStep::kOn,
                                        FlowStep::kOn, FlowStep::kFarCall, FlowStep::kFarReturn, FlowStep::kOn};
  static_assert(std::size(kSteps) == static_cast<size_t>(BlockEnd::kFarJump) + 1);
  now_.step = kSteps[static_cast<size_t>(item.end)];
  now_.from = item.to;
  now_.last_tsc = item.tsc;
}

bool CallMachine::step(const FlowItem& item) {
  if (reaches(item) && !step(reached(item))) return false;
  switch (item.kind) {
    case FlowKind::kBlock:
      if (!block(item)) return false;
      break;
    case FlowKind::kResume:
      if (!resume(item)) return false;
      break;
    case FlowKind::kInterrupt:
      interrupt(item);
      break;
    case FlowKind::kPause:
      pause(item);
      break;
    case FlowKind::kGap:
      if (!gap(item)) return false;
      break;
    case FlowKind::kProgram:
      now_.next_program = NextProgram::kOther;  // from its first instruction on; the kernel may have to do until then
      now_.size = 0;
      break;
    case FlowKind::kThread:
    case FlowKind::kMark:
      break;
  }
  now_.last_tsc = item.tsc;
  return true;
}

bool CallMachine::reaches(const FlowItem& item) const {
  if (item.ip == 0 || item.ip == now_.from) return false;
  if (item.kind == FlowKind::kInterrupt) return true;
  return item.kind == FlowKind::kPause && now_.step != FlowStep::kFarCall && now_.step != FlowStep::kFarReturn &&
         now_.step != FlowStep::kInterrupt;
}

FlowItem CallMachine::reached(const FlowItem& item) {
  FlowItem reached;
  reached.ip = reached.to = item.ip;
  reached.tsc = item.tsc;
  return reached;
}

bool CallMachine::block(const FlowItem& item) {
  if (!arrive(item.ip, item.tsc)) return false;
  ran_ = true;
  instructions_ += item.count;
  end_with(item);
  return true;
}

bool CallMachine::arrive(uint64_t ip, uint64_t tsc) {
  switch (now_.step) {
    case FlowStep::kOn:
      return jump(ip, tsc);
    case FlowStep::kCall:
      return call(ip, tsc);
    case FlowStep::kReturn:
      return return_to(ip, tsc);
    case FlowStep::kFarCall:
      return far_call(ip, tsc);
    case FlowStep::kFarReturn:
      return far_return(ip, tsc);
    case FlowStep::kInterrupt:
      push_interrupt(ip, now_.from, tsc);
      return true;
    case FlowStep::kGap:
      return leave_gap(ip, tsc);
  }
  return true;
}

void CallMachine::interrupt(const FlowItem& item) {
  if (now_.step == FlowStep::kGap)
    return;  // where it came from is not known: the next block will say where the flow is
  now_.step = item.to != 0 ? FlowStep::kOn : FlowStep::kInterrupt;
  now_.from = item.to != 0 ? item.to : item.ip;
  now_.size = 0;
  if (item.to != 0) push_interrupt(item.to, item.ip, item.tsc);
}

void CallMachine::pause(const FlowItem& item) {
  account(item.tsc);
  if (!now_.paused) ++tree_[now_.node].stats.pauses;
  now_.paused = true;
  now_.paused_at = item.ip != 0 ? item.ip : now_.from;
  now_.size = 0;
}

bool CallMachine::resume(const FlowItem& item) {
  if (item.ip != 0 && !resume_at(item.ip, item.tsc)) return false;
  account(item.tsc);
  now_.paused = false;
  if (item.ip == 0) return true;
  now_.step = FlowStep::kOn;
  now_.from = item.ip;
  return true;
}

bool CallMachine::gap(const FlowItem& item) {
  const bool window = item.reason == GapReason::kBetweenWindows;
  if (window && !known_bottom_) return unsettled(Unsettled::kAny);
  if (window) forget_frames(item.tsc);
  now_.next_program = NextProgram::kSame;  // whatever began may have begun in the gap
  if (window) {
    now_.gap = GapReason::kNone;
  } else if (now_.step != FlowStep::kGap) {
    now_.gap = item.reason;
  }
  const uint32_t node = tree_.child(CallTree::kRoot, cache_.functions().gap(item.reason));
  run_in(node, nullptr, item.tsc);
  ++tree_[node].stats.calls;
  now_.step = FlowStep::kGap;
  return true;
}

// The first instruction of another program.
bool CallMachine::begin_program(uint64_t ip, uint64_t tsc) {
  if (!known_bottom_) return unsettled(Unsettled::kAny);
  now_.next_program = NextProgram::kSame;
  now_.gap = GapReason::kNone;
  forget_frames(tsc);
  return begin(ip, tsc);
}

// What runs next has nothing to do with what was open, and all with the thread.
void CallMachine::forget_frames(uint64_t tsc) {
  pop_to(0, tsc);
  push_floor(GapReason::kNone, tsc);
}

void CallMachine::switch_out(uint64_t tsc) {
  account(tsc);
  now_.out = true;
  now_.size = 0;
}

void CallMachine::switch_in(uint64_t tsc) {
  account(tsc);
  if (now_.out) ++tree_[now_.node].stats.pauses;
  now_.out = false;
}

// Ticks since the last time, to the node where the flow was. Before the first instruction it was nowhere, and nothing
// was recorded.
void CallMachine::account(uint64_t tsc) {
  if (tsc <= now_.since) return;
  if (now_.since != 0 && now_.node != CallTree::kRoot) {
    CallStats& stats = tree_[now_.node].stats;
    (now_.paused || now_.out ? stats.pause_ticks : stats.ticks) += tsc - now_.since;
  }
  now_.since = tsc;
}

void CallMachine::flush_instructions() {
  tree_[now_.node].stats.instructions += instructions_;
  instructions_ = 0;
}

void CallMachine::run_in(uint32_t node, const CallFunction* place, uint64_t tsc) {
  flush_instructions();
  account(tsc);
  now_.paused = false;
  now_.node = node;
  now_.place = place == nullptr ? nullptr : place->place;
  now_.begin = place == nullptr ? 0 : place->begin;
  now_.size = place == nullptr ? 0 : place->end - place->begin;
}

void CallMachine::finish() {
  flush_instructions();
  account(now_.last_tsc);
  pop_to(0, now_.last_tsc);
  now_.node = tree_.compact({})[now_.node];
}

bool CallMachine::unsettled(Unsettled how) {
  unsettled_ = how;
  return false;
}

void CallMachine::begin_piece(const FlowItem& item) {
  const CallFunction* place = place_of(item.ip, item.tsc);
  Frame bottom;
  bottom.kind = FrameKind::kBottom;
  if (unsettled_ == Unsettled::kJump) {
    bottom.recent = now_.frames.back().recent;
    bottom.recent.use(now_.place->id);
    bottom.recent.use(place->id);
  }
  bottom.node = tree_.add(CallRole::kFrame, GapReason::kNone);
  if (unsettled_ == Unsettled::kTailCall) {
    const uint32_t parent = tree_.add(CallRole::kParent, GapReason::kNone);
    bottom.function = cache_.entered(pid_, item.tsc, item.ip);
    bottom.node = bottom.function->stub ? parent : tree_.child(parent, bottom.function);
    bottom.entered_tsc = item.tsc;
    bottom.entry_known = true;
  }
  now_.frames.assign(1, bottom);
  now_.since = item.tsc;
  instructions_ = 0;
  now_.out = false;
  now_.next_program = NextProgram::kUntold;
  run_in(top_node(place), place, item.tsc);
  now_.step = FlowStep::kOn;
  now_.from = item.ip;
  if (item.kind == FlowKind::kBlock) end_with(item);
  now_.last_tsc = item.tsc;
  unsettled_ = Unsettled::kAny;
  ran_ = true;
}

void CallMachine::continue_as(const CallState& part, const std::vector<uint32_t>& moved, uint32_t slices_before) {
  flush_instructions();
  const Frame& bottom = part.frames.front();
  Frame& top = now_.frames.back();
  if (bottom.function != nullptr) {
    top.function = bottom.function;
    top.node = moved[bottom.node];
    top.entered_tsc = bottom.entered_tsc;
    top.entry_known = bottom.entry_known;
    top.local = false;
    top.recent = bottom.recent;
    top.came_back_to = bottom.came_back_to;
  } else {
    RecentFunctions recent = bottom.recent;
    recent.continue_with(top.recent);
    top.recent = recent;
    if (bottom.came_back_to != 0) top.came_back_to = bottom.came_back_to;
  }
  for (size_t i = 1; i < part.frames.size(); ++i) {
    Frame frame = part.frames[i];
    frame.node = moved[frame.node];
    frame.slice += slices_before;
    now_.frames.push_back(frame);
  }
  forget_lowest();
  now_.node = moved[part.node];
  now_.place = part.place;
  now_.begin = part.begin;
  now_.size = part.size;
  now_.since = std::max(now_.since, part.since);
  now_.step = part.step;
  now_.gap = part.gap;
  now_.from = part.from;
  now_.paused = part.paused;
  now_.paused_at = part.paused_at;
  now_.out = part.out;
  if (part.next_program != NextProgram::kUntold) now_.next_program = part.next_program;
  now_.last_tsc = part.last_tsc;
  ran_ = true;
}

void CallMachine::compact() {
  std::vector<uint32_t> floors;
  for (const Frame& frame : now_.frames) {
    if (frame.kind == FrameKind::kFloor) floors.push_back(frame.node);
  }
  const std::vector<uint32_t> moved = tree_.compact(floors);
  for (Frame& frame : now_.frames) frame.node = moved[frame.node];
  now_.node = moved[now_.node];
}

}  // namespace fathom::snapshot
