#include "query/timeline/thread_items.h"

#include <algorithm>
#include <map>

#include "query/timeline/span_places.h"
#include "query/timeline/syscall_names.h"

namespace fathom::query {

namespace {

using capture::KernelEvent;
using capture::KernelEventKind;

bool is_call(const KernelEvent& event) {
  return event.kind == KernelEventKind::kSyscall || event.kind == KernelEventKind::kSyscallUnderWay;
}
bool is_fault(const KernelEvent& event) {
  return event.kind == KernelEventKind::kUserFault || event.kind == KernelEventKind::kKernelFault;
}

// Times of two captures are each rounded by themselves.
constexpr uint64_t kSameMomentNano = 1'000;

// One capture's part of a process: what is after `after_nano`, because earlier captures have told the rest.
struct Part {
  const TimelineCapture& capture;
  uint64_t after_nano = 0;

  const capture::Capture& content() const { return *capture.content; }
  bool is_new(uint64_t nano) const { return nano > after_nano; }
  StateWindow window() const {
    const capture::Capture& c = content();
    if (c.kernel_complete_from_nano == 0) return {};
    return {std::max({c.kernel_complete_from_nano, c.begin_nano, after_nano}), c.end_nano};
  }
};

class ThreadFiller {
 public:
  ThreadFiller(const TraceId& trace_id, const TimelineScope& scope, TimelineThread& out)
      : trace_id_(trace_id), scope_(scope), out_(out) {}

  void add(const Part& part, const capture::Thread& thread) {
    if (!thread.name.empty()) out_.name = thread.name;
    std::vector<uint64_t> ran;
    for (const auto& event : thread.events) {
      if (part.is_new(event.monotonic_nano)) add_event(part, thread, event);
      ran.push_back(event.monotonic_nano);
    }
    std::vector<const KernelEvent*> kernel;
    for (const auto& event : thread.kernel_events) {
      kernel.push_back(&event);
      add_kernel_event(part, event);
    }
    for (StateInterval state : thread_states(kernel, part.window(), ran)) add_state(part, state);
  }

  void finish() {
    drop_calls_told_twice();
    std::ranges::stable_sort(out_.calls, {}, &TimelineCall::begin_unix_nano);
    find_range();
    cut_to_range();
    totals();
  }

 private:
  void add_event(const Part& part, const capture::Thread& thread, const capture::Event& event) {
    TimelineEvent added{part.capture.unix_nano(event.monotonic_nano), &part.content(), &thread, &event, {}, false};
    if (event.spans < part.content().span_sets.size()) {
      for (const auto& span : part.content().span_sets[event.spans]) {
        bool ours = span.trace_id == trace_id_ && !trace_id_.is_zero();
        if (ours && !scope_.wants(added.span_id)) added.span_id = span.span_id;
        if (!ours && !trace_id_.is_zero()) added.other = true;
      }
    }
    added.other = added.other && added.span_id.is_zero();
    if (scope_.wants(added.span_id)) out_.of_trace = true;
    out_.events.push_back(added);
  }

  void add_kernel_event(const Part& part, const KernelEvent& event) {
    if (is_call(event) && part.is_new(event.end_nano)) {
      bool known = event.monotonic_nano != 0;
      uint64_t begin = known ? event.monotonic_nano : std::min(part.content().begin_nano, event.end_nano);
      out_.calls.push_back(
          {.begin_unix_nano = part.capture.unix_nano(begin),
           .end_unix_nano = std::max(part.capture.unix_nano(begin), part.capture.unix_nano(event.end_nano)),
           .event = &event,
           .begin_known = known});
    }
    if (is_fault(event) && part.is_new(event.monotonic_nano)) {
      out_.faults.push_back({part.capture.unix_nano(event.monotonic_nano), &event});
    }
  }

  void add_state(const Part& part, StateInterval state) {
    state.begin_nano = part.capture.unix_nano(state.begin_nano);
    state.end_nano = std::max(part.capture.unix_nano(state.end_nano), state.begin_nano);
    if (!states_.empty() && goes_on(states_.back(), state)) return extend(states_.back(), state);
    states_.push_back(state);
  }

  // What a capture has to guess about its begin, the one before it knows.
  static bool goes_on(const StateInterval& before, const StateInterval& state) {
    bool same = before.state == state.state || (state.state == ThreadState::kBlocked && is_blocked(before.state));
    return same && state.guessed && state.start == nullptr && before.end_nano + kSameMomentNano >= state.begin_nano;
  }

  static void extend(StateInterval& before, const StateInterval& state) {
    before.end_nano = std::max(before.end_nano, state.end_nano);
    if (before.waker == nullptr) before.waker = state.waker;
  }

  void drop_calls_told_twice() {
    auto key = [](const TimelineCall& call) { return std::pair(call.event->monotonic_nano, call.event->syscall); };
    auto under_way = [](const TimelineCall& call) { return call.event->kind == KernelEventKind::kSyscallUnderWay; };
    std::map<std::pair<uint64_t, int32_t>, const KernelEvent*> last;
    for (const TimelineCall& call : out_.calls) last[key(call)] = call.event;
    std::erase_if(out_.calls,
                  [&](const TimelineCall& call) { return under_way(call) && last[key(call)] != call.event; });
  }

  void widen(uint64_t begin, uint64_t end) {
    bool first = out_.end_unix_nano == 0;
    out_.begin_unix_nano = first ? begin : std::min(out_.begin_unix_nano, begin);
    out_.end_unix_nano = std::max(out_.end_unix_nano, end);
  }

  void find_range() {
    for (const auto& span : out_.spans) widen(span.begin_unix_nano, span.end_unix_nano);
    for (const auto& event : out_.events) {
      if (scope_.all || scope_.wants(event.span_id)) widen(event.unix_nano, event.unix_nano);
    }
    if (!scope_.all) return clip();
    for (const auto& state : states_) widen(state.begin_nano, state.end_nano);
    for (const auto& call : out_.calls) widen(call.begin_unix_nano, call.end_unix_nano);
    clip();
  }

  void clip() {
    out_.begin_unix_nano = std::max(out_.begin_unix_nano, scope_.begin_unix_nano);
    out_.end_unix_nano = std::max(std::min(out_.end_unix_nano, scope_.end_unix_nano), out_.begin_unix_nano);
  }

  bool meets(uint64_t begin, uint64_t end) const { return end >= out_.begin_unix_nano && begin <= out_.end_unix_nano; }

  void cut_to_range() {
    auto unwanted = [&](const TimelineEvent& e) {
      return !meets(e.unix_nano, e.unix_nano) || (!scope_.all && !scope_.wants(e.span_id));
    };
    out_.other_events = std::erase_if(out_.events, unwanted);
    std::erase_if(out_.calls, [&](const auto& c) { return !meets(c.begin_unix_nano, c.end_unix_nano); });
    std::erase_if(out_.faults, [&](const auto& f) { return !meets(f.unix_nano, f.unix_nano); });
    for (const StateInterval& state : states_) {
      if (!meets(state.begin_nano, state.end_nano)) continue;
      bool waits = state.state != ThreadState::kRunning && state.state != ThreadState::kUnknown;
      out_.states.push_back({state, waits ? waited_in(out_.calls, state) : std::string_view()});
    }
  }

  void totals() {
    out_.totals = state_totals(states_, out_.begin_unix_nano, out_.end_unix_nano);
    for (TimelineSpan& span : out_.spans) {
      span.totals = state_totals(states_, span.begin_unix_nano, span.end_unix_nano);
      if (span.totals.longest_wait) span.longest_in = waited_in(out_.calls, *span.totals.longest_wait);
    }
    for (TimelineCall& call : out_.calls) call.totals = state_totals(states_, call.begin_unix_nano, call.end_unix_nano);
  }

  const TraceId trace_id_;
  const TimelineScope& scope_;
  TimelineThread& out_;
  std::vector<StateInterval> states_;
};

std::vector<Part> parts_of(const Timeline& timeline, const TimelineProcess& process) {
  std::vector<Part> parts;
  uint64_t told_nano = 0;
  for (size_t c : process.captures) {
    parts.push_back({timeline.captures[c], told_nano});
    told_nano = std::max(told_nano, timeline.captures[c].content->end_nano);
  }
  return parts;
}

// For each thread, the parts that know it.
using KnownThreads = std::map<uint32_t, std::vector<std::pair<const Part*, const capture::Thread*>>>;
KnownThreads known_threads(const std::vector<Part>& parts) {
  KnownThreads known;
  for (const Part& part : parts) {
    for (const capture::Thread& thread : part.content().threads) known[thread.tid].emplace_back(&part, &thread);
  }
  return known;
}

uint64_t bytes_of(const TimelineThread& thread) {
  return thread.events.size() * sizeof(TimelineEvent) + thread.calls.size() * sizeof(TimelineCall) +
         thread.states.size() * sizeof(TimelineState) + thread.faults.size() * sizeof(TimelineFault);
}

}  // namespace

std::string_view waited_in(const std::vector<TimelineCall>& calls, const StateInterval& interval) {
  auto after = std::ranges::upper_bound(calls, interval.begin_nano, {}, &TimelineCall::begin_unix_nano);
  if (after != calls.begin()) {
    const TimelineCall& call = *(after - 1);
    std::string_view name = syscall_name(call.event->syscall);
    if (call.end_unix_nano >= interval.end_nano) return name.empty() ? "system call" : name;
  }
  // Others that come after a fault, and after who knows what system calls, are none of its.
  bool by_fault = interval.state == ThreadState::kUninterruptible && interval.before != nullptr;
  return by_fault && is_fault(*interval.before) ? "page fault" : std::string_view();
}

Result<> fill_threads(Timeline& timeline, TimelineProcess& process, const TimelineScope& scope,
                      store::QueryBudget& budget) {
  std::vector<Part> parts = parts_of(timeline, process);
  for (const auto& [tid, known] : known_threads(parts)) {
    TimelineThread& thread = thread_of(process, tid);
    ThreadFiller filler(timeline.trace_id, scope, thread);
    for (const auto& [part, content] : known) filler.add(*part, *content);
    filler.finish();
    if (auto paid = budget.spend(bytes_of(thread)); !paid) return paid;
  }
  if (scope.all) return {};
  process.other_threads = std::erase_if(process.threads, [](const TimelineThread& t) { return !t.of_trace; });
  return {};
}

}  // namespace fathom::query
