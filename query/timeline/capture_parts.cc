#include "query/timeline/capture_parts.h"

#include <algorithm>
#include <map>

#include "query/timeline/recorded_time.h"

namespace fathom::query {

namespace {

// What was told of the kernel without gaps, of captures by begin of their windows.
class ToldTime {
 public:
  void add(StateWindow window) {
    if (window.to_nano <= window.from_nano) return;
    auto at = told_.upper_bound(window.from_nano);
    if (at != told_.begin() && std::prev(at)->second >= window.from_nano) --at;
    for (; at != told_.end() && at->first <= window.to_nano; at = told_.erase(at)) {
      window.from_nano = std::min(window.from_nano, at->first);
      window.to_nano = std::max(window.to_nano, at->second);
    }
    told_[window.from_nano] = window.to_nano;
    last_nano_ = std::max(last_nano_, window.to_nano);
  }

  // What is before the window's begin, no later window meets either.
  ToldWindows within(const capture::Capture& content, Meter& meter) {
    while (!told_.empty() && told_.begin()->second < content.begin_nano) told_.erase(told_.begin());
    ToldWindows within{.last_nano = last_nano_};
    for (auto [from, to] : told_) {
      if (from > content.end_nano || !meter.spend(2 * sizeof(StateWindow))) break;
      within.windows.push_back({from, to});
    }
    return within;
  }

 private:
  std::map<uint64_t, uint64_t> told_;  // from, to
  uint64_t last_nano_ = 0;
};

// What the captures until now have told, by kind.
struct TimeTold {
  ToldTime events, all_events, kernel, calls;

  // Fills in what `part` need not tell, and adds what it tells.
  void tell(CapturePart& part, Meter& meter) {
    const capture::Capture& content = part.content();
    part.events = events.within(content, meter);
    part.kernel = kernel.within(content, meter);
    part.calls = calls.within(content, meter);
    events.add(complete_events(content));
    all_events.add(complete_events(content));
    kernel.add(part.window());
    if (has_system_calls(content)) calls.add(part.window());
  }
};

std::vector<StateWindow> without(StateWindow window, const std::vector<StateWindow>& told) {
  std::vector<StateWindow> left;
  for (const StateWindow& gone : told) {
    if (gone.from_nano > window.from_nano) left.push_back({window.from_nano, std::min(gone.from_nano, window.to_nano)});
    window.from_nano = std::max(window.from_nano, gone.to_nano);
    if (window.from_nano >= window.to_nano) return left;
  }
  left.push_back(window);
  return left;
}

SetMark mark_of(const std::vector<capture::SpanRef>& set, const TraceId& trace_id, const TimelineScope& scope) {
  SetMark mark;
  if (!set.empty()) mark.other_span = &set.front();
  if (trace_id.is_zero()) return mark;
  for (const capture::SpanRef& span : set) {
    bool ours = span.trace_id == trace_id;
    if (ours && !scope.wants(mark.span_id)) mark.span_id = span.span_id;
    mark.other = mark.other || !ours;
  }
  mark.other = mark.other && mark.span_id.is_zero();
  if (!mark.other) mark.other_span = nullptr;
  return mark;
}

std::vector<SetMark> marks_of(const capture::Capture& content, const TraceId& trace_id, const TimelineScope& scope,
                              Meter& meter) {
  std::vector<SetMark> marks;
  if (!meter.spend(content.span_sets.size() * sizeof(SetMark))) return marks;
  marks.reserve(content.span_sets.size());
  for (const auto& set : content.span_sets) {
    if (!meter.step(1 + set.size())) break;
    marks.push_back(mark_of(set, trace_id, scope));
  }
  return marks;
}

StateInterval cut(StateInterval state, const StateWindow& window) {
  if (state.begin_nano < window.from_nano) {
    state.begin_nano = window.from_nano;
    state.start = nullptr;
  }
  if (state.end_nano > window.to_nano) {
    state.end_nano = window.to_nano;
    if (is_blocked(state.state)) state.waker = nullptr;
  }
  return state;
}

}  // namespace

StateWindow CapturePart::window() const {
  return complete_kernel(content());
}

bool ToldWindows::has(uint64_t nano) const {
  auto behind = std::ranges::upper_bound(windows, nano, {}, &StateWindow::from_nano);
  return behind != windows.begin() && nano <= std::prev(behind)->to_nano;
}

bool CapturePart::is_new(uint64_t nano) const {
  const StateWindow complete = complete_events(content());
  const bool is_complete = nano >= complete.from_nano && nano <= complete.to_nano;
  return !(is_complete ? events : all_events).has(nano);
}

bool CapturePart::is_new_of_kernel(uint64_t nano, const ToldWindows& told) const {
  return nano < content().begin_nano ? nano > told.last_nano : !told.has(nano);
}

Result<std::vector<CapturePart>> parts_of(const Timeline& timeline, const TimelineProcess& process,
                                          const TimelineScope& scope, Meter& meter) {
  std::vector<CapturePart> parts;
  parts.reserve(process.captures.size());
  TimeTold told;
  for (size_t c : process.captures) {
    CapturePart& part = parts.emplace_back(timeline.captures[c]);
    told.tell(part, meter);
    part.fresh = without(part.window(), part.kernel.windows);
    part.sets = marks_of(part.content(), timeline.trace_id, scope, meter);
    part.processors = ProcessorUse(part.content(), meter);
    if (!meter.going_on()) return meter.result().error();
  }
  for (CapturePart& part : parts) part.all_events = told.all_events.within(part.content(), meter);
  if (!meter.going_on()) return meter.result().error();
  return parts;
}

std::vector<StateInterval> fresh_states(const CapturePart& part, const std::vector<StateInterval>& states,
                                        Meter& meter) {
  std::vector<StateInterval> fresh;
  fresh.reserve(states.size());
  auto window = part.fresh.begin();
  for (const StateInterval& state : states) {
    while (window != part.fresh.end() && window->to_nano <= state.begin_nano && meter.step()) ++window;
    for (auto at = window; at != part.fresh.end() && at->from_nano < state.end_nano && meter.step(); ++at) {
      fresh.push_back(cut(state, *at));
    }
    if (!meter.going_on()) break;
  }
  return fresh;
}

}  // namespace fathom::query
