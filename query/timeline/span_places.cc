#include "query/timeline/span_places.h"

#include <algorithm>
#include <map>
#include <set>

#include "query/timeline/meter.h"
#include "query/timeline/named_threads.h"
#include "query/timeline/process_finder.h"
#include "query/timeline/runners.h"

namespace fathom::query {

namespace {

using store::StoredSpan;

struct Place {
  size_t process = 0;
  uint32_t tid = 0;
  uint64_t since_nano = 0;  // 0: it was open there
};

constexpr uint64_t kMentionBytes = 96;  // of a span in a map, about

class Placer {
 public:
  Placer(Timeline& timeline, Meter& meter) : timeline_(timeline), meter_(meter), finder_(timeline.processes) {}

  void run() {
    for (size_t p = 0; p < timeline_.processes.size(); ++p) {
      for (size_t c : timeline_.processes[p].captures) mentioned_in(p, *timeline_.captures[c].content);
      make_threads(timeline_.processes[p]);
    }
    each_stored([&](const StoredSpan& stored) { find_process(stored); });
    each_stored([&](const StoredSpan& stored) { lend_clock(process_of(stored), stored); });
    mark_left_out();
    each_stored([&](const StoredSpan& stored) { place_by_name(stored); });
    add_named_threads();
    each_stored([&](const StoredSpan& stored) { guess_by_runners(stored); });
    guess_threads();
    each_stored([&](const StoredSpan& stored) { put_stored(stored); });
    for (size_t p = 0; p < timeline_.processes.size(); ++p) put_open_spans(p);
  }

 private:
  template <typename Visit>
  void each_stored(Visit visit) {
    for (const StoredSpan& stored : timeline_.trace.spans) {
      if (!meter_.step()) return;
      visit(stored);
    }
  }

  // Of each set only the first mention counts: it is looked at once, however many events name it.
  void mentioned_in(size_t process, const capture::Capture& content) {
    constexpr uint64_t kNever = UINT64_MAX;
    if (!meter_.spend(content.span_sets.size() * sizeof(Place))) return;
    std::vector<Place> first(content.span_sets.size(), Place{process, 0, kNever});
    for (const capture::Thread& thread : content.threads) {
      for (const auto& open : thread.open) mention(open.span, {process, thread.tid, 0});
      for (const capture::Event& event : thread.events) {
        if (!meter_.step()) return;
        if (!event.spans_certain || event.spans >= first.size()) continue;
        Place& place = first[event.spans];
        if (event.monotonic_nano < place.since_nano) place = {process, thread.tid, event.monotonic_nano};
      }
    }
    for (size_t set = 0; set < first.size(); ++set) {
      if (first[set].since_nano == kNever) continue;
      for (const auto& span : content.span_sets[set]) mention(span, first[set]);
    }
  }

  // All at once: each alone would move those behind it.
  void make_threads(TimelineProcess& process) {
    std::vector<uint32_t> tids;
    for (size_t c : process.captures) {
      for (const auto& thread : timeline_.captures[c].content->threads) tids.push_back(thread.tid);
    }
    std::ranges::sort(tids);
    tids.erase(std::ranges::unique(tids).begin(), tids.end());
    if (!meter_.spend(tids.size() * sizeof(TimelineThread))) return;
    process.threads.reserve(tids.size());
    for (uint32_t tid : tids) process.threads.push_back({.tid = tid});
  }

  void mention(const capture::SpanRef& span, const Place& place) {
    if (!meter_.step() || span.trace_id != timeline_.trace_id) return;
    auto [found, fresh] = places_.try_emplace(span.span_id, place);
    if (fresh) meter_.spend(kMentionBytes);
    if (!fresh && place.since_nano < found->second.since_nano) found->second = place;
  }

  void find_process(const StoredSpan& stored) {
    auto place = places_.find(stored.span.span_id);
    if (place == places_.end()) return;
    Origin origin = origin_of(stored);
    if (!origin.names_process()) {
      origins_.insert_or_assign(std::move(origin), place->second.process);
    } else if (process_of(stored) != place->second.process) {
      places_.erase(place);
    }
  }

  size_t process_of(const StoredSpan& stored) {
    auto [found, fresh] = origins_.try_emplace(origin_of(stored), 0);
    if (fresh) found->second = finder_.find_or_make(found->first);
    return found->second;
  }

  void mark_left_out() {
    for (const auto& [origin, process] : origins_) {
      if (timeline_.left_out_of.contains(origin)) timeline_.processes[process].captures_left_out = true;
    }
  }

  // A node whose clock was not known when its capture was made has sent spans since.
  void lend_clock(size_t process, const StoredSpan& stored) {
    if (!stored.clock || !lent_.insert(process).second) return;
    for (size_t c : timeline_.processes[process].captures) {
      if (!timeline_.captures[c].clock) timeline_.captures[c].clock = stored.clock;
    }
  }

  void place_by_name(const StoredSpan& stored) {
    const NamedThreads named = named_threads(stored.span);
    if (!meter_.step(stored.span.attributes.size()) || !named.known()) return;
    const size_t process = process_of(stored);
    auto [place, fresh] = places_.try_emplace(stored.span.span_id);
    if (!fresh && is_capture_decisive(stored, named, place->second)) return;
    if (fresh) meter_.spend(kMentionBytes);
    // A thread that hands a span over goes on with other work.
    place->second = {process, named.end_tid, 0};
    if (!is_captured(process, named.end_tid)) named_[process].insert(named.end_tid);
  }

  bool is_captured(size_t process, uint32_t tid) { return find_thread(timeline_.processes[process], tid) != nullptr; }

  // Other threads may write events under a span, so a capture decides only between the threads that the span names. In
  // a pid namespace, a capture may have the program's own number of a thread that had ended: then any thread may be it.
  bool is_capture_decisive(const StoredSpan& stored, const NamedThreads& named, const Place& place) {
    if (has_node_numbers(stored)) return named.differ() && named.have(place.tid);
    return named.differ() || !is_captured(place.process, named.end_tid);
  }

  // True if the process's own number is the node's, so that it is in the node's pid namespace.
  bool has_node_numbers(const StoredSpan& stored) {
    return origin_of(stored).pid == std::to_string(timeline_.processes[process_of(stored)].pid);
  }

  // Threads that spans name but no capture knows.
  void add_named_threads() {
    for (const auto& [process, tids] : named_) {
      if (!meter_.spend(tids.size() * sizeof(TimelineThread))) return;
      std::vector<TimelineThread>& threads = timeline_.processes[process].threads;
      for (uint32_t tid : tids) threads.push_back({.tid = tid, .is_captured = false});
      std::ranges::sort(threads, {}, &TimelineThread::tid);
    }
  }

  void guess_by_runners(const StoredSpan& stored) {
    if (places_.contains(stored.span.span_id)) return;
    size_t process = process_of(stored);
    if (timeline_.processes[process].captures.empty()) return;
    auto runners = runners_.find(process);
    if (runners == runners_.end()) {
      runners = runners_.emplace(process, Runners(timeline_, timeline_.processes[process], meter_)).first;
    }
    TimelineSpan span = span_of(process, stored);
    auto tid = runners->second.only_one(span.begin_unix_nano, span.end_unix_nano, meter_);
    if (!tid) return;
    places_[span.span_id] = {process, *tid, 0};
    guessed_.insert(span.span_id);
  }

  // From the latest on: children before their parents, so that a guess can lead to the next.
  void guess_threads() {
    std::map<SpanId, std::set<uint32_t>> of_children;
    const auto& spans = timeline_.trace.spans;
    for (auto stored = spans.rbegin(); stored != spans.rend(); ++stored) {
      if (!meter_.step()) return;
      const SpanId& id = stored->span.span_id;
      auto children = of_children.find(id);
      bool guess = !places_.contains(id) && children != of_children.end() && children->second.size() == 1;
      if (guess) {
        places_[id] = {process_of(*stored), *children->second.begin(), 0};
        guessed_.insert(id);
      }
      auto place = places_.find(id);
      if (place != places_.end() && is_of_process(stored->span.parent_span_id, place->second.process)) {
        of_children[stored->span.parent_span_id].insert(place->second.tid);
      }
    }
  }

  bool is_of_process(const SpanId& id, size_t process) {
    if (process_of_span_.empty()) {
      for (const StoredSpan& stored : timeline_.trace.spans) process_of_span_[stored.span.span_id] = process_of(stored);
    }
    auto found = process_of_span_.find(id);
    return found != process_of_span_.end() && found->second == process;
  }

  void put_stored(const StoredSpan& stored) {
    auto place = places_.find(stored.span.span_id);
    bool known = place != places_.end();
    size_t process = known ? place->second.process : process_of(stored);
    TimelineSpan span = span_of(process, stored);
    span.guessed_thread = guessed_.contains(span.span_id);
    if (const NamedThreads named = named_threads(stored.span); named.differ()) {
      span.start_tid = named.start_tid;
      span.end_tid = named.end_tid;
    }
    put(process, known ? std::optional(place->second.tid) : std::nullopt, std::move(span));
    stored_.insert(stored.span.span_id);
  }

  TimelineSpan span_of(size_t process, const StoredSpan& stored) const {
    const auto& captures = timeline_.processes[process].captures;
    auto clock = captures.empty() ? stored.clock : timeline_.captures[captures.front()].clock;
    TimelineSpan span{.span_id = stored.span.span_id, .parent_span_id = stored.span.parent_span_id};
    span.service = stored.service;
    span.operation = stored.operation == store::kOtherOperation ? stored.span.name : stored.operation;
    span.kind = static_cast<uint8_t>(stored.span.kind);
    span.status = stored.span.status;
    span.begin_unix_nano = corrected_unix_nano(stored.span.start_unix_nano, clock);
    span.end_unix_nano = store::end_of(span.begin_unix_nano, stored.span.duration_nano());
    return span;
  }

  void put_open_spans(size_t process) {
    const auto& captures = timeline_.processes[process].captures;
    for (auto c = captures.rbegin(); c != captures.rend(); ++c) {  // the last one has seen it open for the longest
      for (const capture::Thread& thread : timeline_.captures[*c].content->threads) {
        put_open_spans_of(process, timeline_.captures[*c], thread);
      }
    }
  }

  void put_open_spans_of(size_t process, const TimelineCapture& capture, const capture::Thread& thread) {
    capture::SpanRef parent;
    for (const capture::OpenSpan& open : thread.open) {
      if (!meter_.step()) return;
      bool wanted = timeline_.trace_id.is_zero() || open.span.trace_id == timeline_.trace_id;
      if (!wanted) continue;
      if (parent.trace_id != open.span.trace_id) parent = {};
      if (stored_.insert(open.span.span_id).second) {
        put(process, thread.tid, open_span(process, capture, open, parent.span_id));
      }
      parent = open.span;
    }
  }

  TimelineSpan open_span(size_t process, const TimelineCapture& capture, const capture::OpenSpan& open,
                         const SpanId& parent) const {
    TimelineSpan span{.span_id = open.span.span_id, .parent_span_id = parent};
    span.service = timeline_.processes[process].service;
    span.operation = open.name;
    span.kind = open.kind;
    span.begin_unix_nano = capture.unix_nano(open.start_nano);
    span.end_unix_nano = std::max(span.begin_unix_nano, capture.unix_nano(capture.content->end_nano));
    span.open = true;
    if (timeline_.trace_id.is_zero()) span.trace_id = open.span.trace_id;
    return span;
  }

  void put(size_t process, std::optional<uint32_t> tid, TimelineSpan span) {
    if (!meter_.spend(sizeof span)) return;
    TimelineProcess& to = timeline_.processes[process];
    TimelineThread* thread = tid ? find_thread(to, *tid) : nullptr;
    (thread != nullptr ? thread->spans : to.spans).push_back(std::move(span));
  }

  Timeline& timeline_;
  Meter& meter_;
  ProcessFinder finder_;
  std::map<SpanId, Place> places_;
  std::map<Origin, size_t> origins_;
  std::map<size_t, std::set<uint32_t>> named_;  // by process: named threads without captures
  std::set<size_t> lent_;
  std::map<size_t, Runners> runners_;  // by process
  std::map<SpanId, size_t> process_of_span_;
  std::set<SpanId> guessed_;
  std::set<SpanId> stored_;
};

// Who contains stands before what is contained.
void sort(std::vector<TimelineSpan>& spans) {
  std::ranges::stable_sort(spans, [](const TimelineSpan& a, const TimelineSpan& b) {
    if (a.begin_unix_nano != b.begin_unix_nano) return a.begin_unix_nano < b.begin_unix_nano;
    return a.end_unix_nano > b.end_unix_nano;
  });
}

}  // namespace

TimelineThread* find_thread(TimelineProcess& process, uint32_t tid) {
  auto place = std::ranges::lower_bound(process.threads, tid, {}, &TimelineThread::tid);
  return place != process.threads.end() && place->tid == tid ? &*place : nullptr;
}

Result<> place_spans(Timeline& timeline, store::QueryBudget& budget) {
  Meter meter(budget);
  Placer(timeline, meter).run();
  if (!meter.going_on()) return meter.result();
  for (TimelineProcess& process : timeline.processes) {
    sort(process.spans);
    for (TimelineThread& thread : process.threads) {
      sort(thread.spans);
      thread.of_trace = thread.of_trace || !thread.spans.empty();
    }
  }
  return {};
}

}  // namespace fathom::query
