#include "query/timeline/thread_items.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <tuple>

#include "query/timeline/capture_parts.h"
#include "query/timeline/event_union.h"
#include "query/timeline/recorded_time.h"
#include "query/timeline/state_index.h"
#include "query/timeline/state_union.h"
#include "query/timeline/syscall_names.h"

namespace fathom::query {

namespace {

using capture::KernelEvent;
using capture::KernelEventKind;

bool is_fault(const KernelEvent& event) {
  return event.kind == KernelEventKind::kUserFault || event.kind == KernelEventKind::kKernelFault;
}

bool makes_threads(std::string_view call) {
  return call == "clone" || call == "clone3";
}

class ThreadFiller {
 public:
  ThreadFiller(const TimelineScope& scope, TimelineThread& out, Meter& meter)
      : scope_(scope), out_(out), meter_(meter) {}

  void add(CapturePart& part, const capture::Thread& thread) {
    if (!thread.name.empty()) out_.name = thread.name;
    std::vector<uint64_t> ran;
    ran.reserve(thread.events.size());
    std::vector<TimelineEvent> fresh;
    for (const auto& event : thread.events) {
      if (!meter_.step()) return;
      if (part.is_new(event.monotonic_nano)) fresh.push_back(event_of(part, thread, event));
      ran.push_back(event.monotonic_nano);
    }
    add_new_events(out_.events, std::move(fresh), meter_);
    std::vector<const KernelEvent*> kernel;
    kernel.reserve(thread.kernel_events.size());
    const uint64_t start_nano = start_of(thread);
    for (const auto& event : thread.kernel_events) {
      if (!meter_.step()) return;
      kernel.push_back(&event);
      if (is_system_call(event)) add_call(part, event, start_nano);
      if (is_fault(event)) add_fault(part, event);
    }
    auto states = thread_states(kernel, part.window(), ran);
    part.processors.find_preempted(states);
    if (lost_changes(part.content()))
      std::ranges::for_each(states, [](auto& state) { state.silence = Silence::kNone; });
    for (const StateInterval& state : fresh_states(part, states, meter_)) add_state(part, state);
  }

  // `part` does not list the thread.
  void add_absence(const CapturePart& part) {
    if (!meter_.step() || lost_changes(part.content())) return;
    const StateWindow window = part.window();
    const StateInterval absence{
        .guessed = true, .silence = Silence::kNoThread, .begin_nano = window.from_nano, .end_nano = window.to_nano};
    for (const StateInterval& state : fresh_states(part, {absence}, meter_)) add_state(part, state);
  }

  void finish() {
    drop_told_twice();
    join_states(states_);
    find_range();
    if (!meter_.step(states_.size() + out_.events.size() + out_.calls.size())) return;
    cut_to_range();
    totals();
  }

 private:
  TimelineEvent event_of(const CapturePart& part, const capture::Thread& thread, const capture::Event& event) {
    TimelineEvent added{
        part.capture.unix_nano(event.monotonic_nano), &part.content(), &thread, &event, {}, false, nullptr};
    if (event.spans < part.sets.size()) {
      added.span_id = part.sets[event.spans].span_id;
      added.other = part.sets[event.spans].other;
      added.other_span = part.sets[event.spans].other_span;
    }
    if (scope_.wants(added.span_id)) out_.of_trace = true;
    return added;
  }

  // 0: it was there before.
  static uint64_t start_of(const capture::Thread& thread) {
    auto start = std::ranges::find(thread.kernel_events, KernelEventKind::kThreadStart, &KernelEvent::kind);
    return start == thread.kernel_events.end() ? 0 : start->monotonic_nano;
  }

  // A thread's life begins with the return from the call by which another made it.
  static bool is_birth(const KernelEvent& call, uint64_t start_nano) {
    bool first = call.monotonic_nano == 0 && start_nano != 0 && call.end_nano >= start_nano;
    return first && call.result == 0 && makes_threads(syscall_name(call.syscall));
  }

  void add_call(const CapturePart& part, const KernelEvent& event, uint64_t start_nano) {
    if (!part.is_new_call(event.end_nano) || is_birth(event, start_nano)) return;
    bool known = event.monotonic_nano != 0;
    // A recorder knows the begin of each call that it saw begin.
    uint64_t from = std::max({part.content().begin_nano, part.window().from_nano, start_nano});
    uint64_t begin = known ? event.monotonic_nano : std::min(from, event.end_nano);
    out_.calls.push_back(
        {.begin_unix_nano = part.capture.unix_nano(begin),
         .end_unix_nano = std::max(part.capture.unix_nano(begin), part.capture.unix_nano(event.end_nano)),
         .event = &event,
         .begin_known = known});
  }

  void add_fault(const CapturePart& part, const KernelEvent& event) {
    if (!part.is_new_of_kernel(event.monotonic_nano)) return;
    out_.faults.push_back({part.capture.unix_nano(event.monotonic_nano), &event});
  }

  void add_state(const CapturePart& part, StateInterval state) {
    state.begin_nano = part.capture.unix_nano(state.begin_nano);
    state.end_nano = std::max(part.capture.unix_nano(state.end_nano), state.begin_nano);
    states_.push_back(state);
  }

  // Calls under way in one capture, and over in another; and what a capture has of the time before it is complete.
  void drop_told_twice() {
    auto under_way = [](const TimelineCall& c) { return c.event->kind == KernelEventKind::kSyscallUnderWay; };
    auto key = [](const TimelineCall& c) {
      bool known = c.event->monotonic_nano != 0;
      return std::tuple(known ? c.event->monotonic_nano : c.event->end_nano, known, c.event->syscall);
    };
    auto order = [&](const TimelineCall& a, const TimelineCall& b) {
      auto of_a = key(a), of_b = key(b);
      if (of_a != of_b) return of_a < of_b;
      return under_way(a) != under_way(b) ? under_way(b) : a.event->end_nano > b.event->end_nano;
    };
    std::ranges::stable_sort(out_.calls, order);
    auto same = [&](const TimelineCall& a, const TimelineCall& b) { return key(a) == key(b); };
    out_.calls.erase(std::ranges::unique(out_.calls, same).begin(), out_.calls.end());
    std::ranges::stable_sort(out_.calls, {}, &TimelineCall::begin_unix_nano);
    drop_faults_told_twice();
  }

  void drop_faults_told_twice() {
    auto nano = [](const TimelineFault& fault) { return fault.event->monotonic_nano; };
    std::ranges::stable_sort(out_.faults, {}, nano);
    auto twice = std::ranges::unique(out_.faults, {}, nano);
    out_.faults.erase(twice.begin(), out_.faults.end());
  }

  void widen(uint64_t begin, uint64_t end) {
    bool first = out_.end_unix_nano == 0;
    out_.begin_unix_nano = first ? begin : std::min(out_.begin_unix_nano, begin);
    out_.end_unix_nano = std::max(out_.end_unix_nano, end);
  }

  void find_range() {
    // An open one may have begun long before the windows, of which all is told then.
    for (const auto& span : out_.spans) {
      if (!scope_.all || !span.open) widen(span.begin_unix_nano, span.end_unix_nano);
    }
    for (const auto& event : out_.events) {
      if (scope_.all || scope_.wants(event.span_id)) widen(event.unix_nano, event.unix_nano);
    }
    if (!scope_.all) return clip();
    for (const auto& state : states_) widen(state.begin_nano, state.end_nano);
    for (const auto& call : out_.calls) widen(call.begin_unix_nano, call.end_unix_nano);
    bool nothing_else = out_.end_unix_nano == 0;
    for (const auto& span : out_.spans) {
      if (nothing_else) widen(span.begin_unix_nano, span.end_unix_nano);
    }
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
    in_.reserve(states_.size());
    for (const StateInterval& state : states_) {
      in_.push_back(is_wait(state.state) ? waited_in(out_.calls, state) : std::string_view());
      if (meets(state.begin_nano, state.end_nano)) out_.states.push_back({state, in_.back()});
    }
  }

  void totals() {
    const StateIndex index(states_);
    WaitSummer summer(index, in_, meter_);
    out_.totals = totals_of(index, out_.begin_unix_nano, out_.end_unix_nano);
    out_.waits = summer.sums(out_.begin_unix_nano, out_.end_unix_nano);
    for (TimelineSpan& span : out_.spans) {
      if (!meter_.step()) return;
      span.totals = totals_of(index, span.begin_unix_nano, span.end_unix_nano);
      span.waits = summer.sums(span.begin_unix_nano, span.end_unix_nano);
      if (span.totals.longest_wait) span.longest_in = waited_in(out_.calls, *span.totals.longest_wait);
    }
    size_t told = std::min(out_.calls.size(), scope_.most_items);
    std::span calls(out_.calls);
    for (auto part : {calls.first(told / 2), calls.last(told - told / 2)}) {
      for (TimelineCall& call : part) {
        if (!meter_.step()) return;
        call.totals = totals_of(index, call.begin_unix_nano, call.end_unix_nano);
        call.waits = waits_of_call(summer.sums(call.begin_unix_nano, call.end_unix_nano));
      }
    }
  }

  // True if the longest wait says as much: a call with one wait, and perhaps the wait for a processor after it.
  static bool is_one_wait(const WaitSums& waits) {
    auto blocked = [](const WaitSum& sum) { return is_blocked(sum.longest.state); };
    auto repeated = [](const WaitSum& sum) { return sum.count > 1; };
    return std::ranges::count_if(waits.sums, blocked) <= 1 && std::ranges::none_of(waits.sums, repeated);
  }

  static WaitSums waits_of_call(WaitSums waits) {
    if (is_one_wait(waits)) waits.sums.clear();
    for (WaitSum& sum : waits.sums) sum.in = {};
    return waits;
  }

  // What no capture tells of is unknown, too, where there is one that tells anything; but for what is due to rounding.
  StateTotals totals_of(const StateIndex& index, uint64_t begin, uint64_t end) const {
    StateTotals totals = index.totals(begin, end);
    uint64_t told = std::accumulate(totals.nano.begin(), totals.nano.end(), uint64_t{0});
    if (states_.empty() || end < begin || end - begin <= told + kSameMomentNano) return totals;
    totals.nano[static_cast<size_t>(ThreadState::kUnknown)] += end - begin - told;
    return totals;
  }

  const TimelineScope& scope_;
  TimelineThread& out_;
  Meter& meter_;
  std::vector<StateInterval> states_;
  std::vector<std::string_view> in_;  // by state: the place of a wait
};

// For each thread, the parts that know it.
using KnownThreads = std::map<uint32_t, std::vector<std::pair<CapturePart*, const capture::Thread*>>>;
constexpr uint64_t kKnownBytes = 128;  // of one, about

KnownThreads known_threads(std::vector<CapturePart>& parts, Meter& meter) {
  KnownThreads known;
  for (CapturePart& part : parts) {
    if (!meter.spend(part.content().threads.size() * kKnownBytes)) break;
    for (const capture::Thread& thread : part.content().threads) known[thread.tid].emplace_back(&part, &thread);
  }
  return known;
}

// `thread_parts`: the parts that list the thread, in the order of `parts`.
void add_parts(ThreadFiller& filler, std::vector<CapturePart>& parts, const KnownThreads::mapped_type& thread_parts) {
  auto next = thread_parts.begin();
  for (CapturePart& part : parts) {
    const bool is_listed = next != thread_parts.end() && next->first == &part;
    if (!is_listed) filler.add_absence(part);
    for (; next != thread_parts.end() && next->first == &part; ++next) filler.add(part, *next->second);
  }
}

// But for its spans (span_places.h).
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
  Meter meter(budget);
  auto parts = parts_of(timeline, process, scope, meter);
  if (!parts) return parts.error();
  const KnownThreads known = known_threads(*parts, meter);
  for (TimelineThread& thread : process.threads) {
    ThreadFiller filler(scope, thread, meter);
    // Some threads have only spans.
    if (auto found = known.find(thread.tid); found != known.end()) add_parts(filler, *parts, found->second);
    filler.finish();
    if (!meter.spend(bytes_of(thread))) return meter.result();
  }
  if (!meter.going_on()) return meter.result();
  // Threads without captures are listed only because of their spans, which the query may have excluded.
  std::erase_if(process.threads,
                [&](const TimelineThread& thread) { return thread.spans.empty() && !known.contains(thread.tid); });
  if (scope.all) return {};
  process.other_threads = std::erase_if(process.threads, [](const TimelineThread& t) { return !t.of_trace; });
  return {};
}

}  // namespace fathom::query
