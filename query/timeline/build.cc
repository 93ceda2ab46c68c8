#include <algorithm>
#include <map>
#include <set>

#include "query/lost_batches.h"
#include "query/timeline/gather.h"
#include "query/timeline/no_capture.h"
#include "query/timeline/span_places.h"
#include "query/timeline/thread_items.h"
#include "query/timeline/thread_order.h"

namespace fathom::query {

namespace {

template <typename Visit>
void each_span(const Timeline& timeline, Visit visit) {
  for (const auto& process : timeline.processes) {
    for (const auto& span : process.spans) visit(span);
    for (const auto& thread : process.threads) {
      for (const auto& span : thread.spans) visit(span);
    }
  }
}

// The span that was asked for, and all below it.
std::set<SpanId> family_of(const Timeline& timeline, const SpanId& root) {
  std::multimap<SpanId, SpanId> children;
  bool there = false;
  each_span(timeline, [&](const TimelineSpan& span) {
    children.emplace(span.parent_span_id, span.span_id);
    there = there || span.span_id == root;
  });
  std::set<SpanId> family;
  std::vector<SpanId> next;
  if (there) next.push_back(root);
  while (!next.empty()) {
    SpanId id = next.back();
    next.pop_back();
    if (!family.insert(id).second) continue;
    for (auto [at, end] = children.equal_range(id); at != end; ++at) next.push_back(at->second);
  }
  return family;
}

void keep_family(Timeline& timeline, const std::set<SpanId>& family) {
  auto stranger = [&](const TimelineSpan& span) { return !family.contains(span.span_id); };
  for (auto& process : timeline.processes) {
    std::erase_if(process.spans, stranger);
    for (auto& thread : process.threads) {
      std::erase_if(thread.spans, stranger);
      thread.of_trace = !thread.spans.empty();
    }
  }
}

// Also removes the spans that nobody asked for.
Result<TimelineScope> scope_of(Timeline& timeline, const TimelineQuery& query) {
  TimelineScope scope{.all = query.all || timeline.trace_id.is_zero(), .most_items = query.most_items};
  if (!query.span) return scope;
  scope.family = family_of(timeline, *query.span);
  if (scope.family->empty()) {
    return not_found("trace " + timeline.trace_id.hex() + " has no span " + query.span->hex());
  }
  keep_family(timeline, *scope.family);
  each_span(timeline, [&](const TimelineSpan& span) {
    if (span.span_id != *query.span) return;
    scope.begin_unix_nano = span.begin_unix_nano;
    scope.end_unix_nano = span.end_unix_nano;
  });
  return scope;
}

void find_range(Timeline& timeline) {
  uint64_t begin = UINT64_MAX;
  uint64_t end = 0;
  auto widen = [&](uint64_t from, uint64_t to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  };
  if (!timeline.trace_id.is_zero()) {
    each_span(timeline, [&](const TimelineSpan& span) { widen(span.begin_unix_nano, span.end_unix_nano); });
  }
  auto each_thread = [&](auto visit) {
    for (const auto& process : timeline.processes) std::ranges::for_each(process.threads, visit);
  };
  if (end == 0) {
    each_thread([&](const TimelineThread& thread) {
      if (thread.end_unix_nano > 0) widen(thread.begin_unix_nano, thread.end_unix_nano);
    });
  }
  if (end == 0) {
    for (const auto& capture : timeline.captures) {
      widen(capture.stored.info.start_unix_nano, capture.stored.info.end_unix_nano);
    }
  }
  timeline.begin_unix_nano = std::min(begin, end);
  timeline.end_unix_nano = end;
}

uint64_t begin_of(const TimelineEvent& event) {
  return event.unix_nano;
}
uint64_t begin_of(const TimelineCall& call) {
  return call.begin_unix_nano;
}
uint64_t begin_of(const TimelineState& state) {
  return state.interval.begin_nano;
}
uint64_t begin_of(const TimelineFault& fault) {
  return fault.unix_nano;
}

// How many each may have, so that all together have no more than `left`: who has less than others keeps all.
size_t fair_share(std::vector<size_t> sizes, size_t left) {
  std::ranges::sort(sizes);
  for (size_t i = 0; i < sizes.size(); ++i) {
    size_t share = left / (sizes.size() - i);
    if (sizes[i] > share) return share;
    left -= sizes[i];
  }
  return SIZE_MAX;
}

// One kind of items after the other, so that no thread's system calls displace another's events. Of each thread's the
// first and the last stay: how it began, and what came right before the capture.
class Limiter {
 public:
  explicit Limiter(Timeline& timeline, size_t most) : timeline_(timeline), left_(most) {}

  void run() {
    cut("events", &TimelineThread::events);
    cut("system_calls", &TimelineThread::calls);
    cut("states", &TimelineThread::states);
    cut("page_faults", &TimelineThread::faults);
  }

 private:
  template <typename Item>
  void cut(std::string_view name, std::vector<Item> TimelineThread::*items) {
    std::vector<size_t> sizes;
    each_thread([&](TimelineThread& thread) { sizes.push_back((thread.*items).size()); });
    size_t share = fair_share(std::move(sizes), left_);
    each_thread([&](TimelineThread& thread) {
      if ((thread.*items).size() > share) leave_out(name, thread, thread.*items, share);
      left_ -= (thread.*items).size();
    });
  }

  template <typename Item>
  void leave_out(std::string_view name, TimelineThread& thread, std::vector<Item>& items, size_t kept) {
    auto first = items.begin() + static_cast<std::ptrdiff_t>(kept / 2);
    auto last = items.end() - static_cast<std::ptrdiff_t>(kept - kept / 2);
    uint64_t count = items.size() - kept;
    thread.gaps.push_back({name, count, begin_of(*first), begin_of(*(last - 1))});
    thread.left_out += count;
    timeline_.left_out += count;
    items.erase(first, last);
  }

  template <typename Visit>
  void each_thread(Visit visit) {
    for (auto& process : timeline_.processes) std::ranges::for_each(process.threads, visit);
  }

  Timeline& timeline_;
  size_t left_;
};

// Of a span that nobody knows the thread of, any of its process's may be it.
TimelineScope scope_of(const TimelineProcess& process, const TimelineQuery& query, TimelineScope scope) {
  auto asked = [&](const TimelineSpan& span) { return span.span_id == *query.span; };
  if (query.span && std::ranges::any_of(process.spans, asked)) scope.all = true;
  return scope;
}

}  // namespace

Result<Timeline> build_timeline(const Stores& stores, const TimelineQuery& query, store::QueryBudget& budget) {
  auto timeline = gather(stores, query, budget);
  if (!timeline) return timeline;
  if (auto placed = place_spans(*timeline, budget); !placed) return placed.error();
  auto scope = scope_of(*timeline, query);
  if (!scope) return scope.error();
  if (auto explained = explain_no_captures(stores, query, *timeline, budget); !explained) return explained.error();
  for (auto& process : timeline->processes) {
    auto filled = fill_threads(*timeline, process, scope_of(process, query, *scope), budget);
    if (!filled) return filled.error();
  }
  if (auto ordered = order_threads(*timeline, budget); !ordered) return ordered.error();
  find_range(*timeline);
  Limiter(*timeline, query.most_items).run();
  return timeline;
}

namespace {

template <typename Write>
Result<std::string> run(const Stores& stores, const TimelineQuery& query, store::QueryBudget& budget, Write write) {
  auto timeline = build_timeline(stores, query, budget);
  auto written = timeline ? write(*timeline, budget) : Result<std::string>(timeline.error());
  if (written || written.error().code != ErrorCode::kExhausted) return written;
  // What the budget itself says is about ranges of time and conditions, which timelines have not.
  return exhausted(
      "the timeline would take more than the query's byte budget; ask for one capture (capture=ID, --capture ID), for "
      "one span (span=ID, --span ID), or for fewer items (limit=N)");
}

}  // namespace

Result<std::string> run_timeline(const Stores& stores, const TimelineQuery& query, store::QueryBudget& budget) {
  const auto write = [&stores](const Timeline& timeline, store::QueryBudget& left) -> Result<std::string> {
    Result<std::string> json = timeline_json(timeline, left);
    const store::TimeRange range{timeline.begin_unix_nano, timeline.end_unix_nano};
    return json ? with_lost_batches(*std::move(json), lost_batches(stores.spans, range)) : json;
  };
  return run(stores, query, budget, write);
}

Result<std::string> run_perfetto(const Stores& stores, const TimelineQuery& query, store::QueryBudget& budget) {
  return run(stores, query, budget, timeline_perfetto);
}

}  // namespace fathom::query
