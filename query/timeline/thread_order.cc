#include "query/timeline/thread_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "query/timeline/meter.h"

namespace fathom::query {

namespace {

constexpr int kMostSteps = 8;

struct Range {
  uint64_t begin_unix_nano = 0;
  uint64_t end_unix_nano = 0;
};
using Ranges = std::vector<Range>;

Ranges joined(Ranges ranges) {
  std::ranges::sort(ranges, {}, &Range::begin_unix_nano);
  Ranges joined;
  for (const Range& range : ranges) {
    if (!joined.empty() && range.begin_unix_nano <= joined.back().end_unix_nano) {
      joined.back().end_unix_nano = std::max(joined.back().end_unix_nano, range.end_unix_nano);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

Range common(const Range& a, const Range& b) {
  return {std::max(a.begin_unix_nano, b.begin_unix_nano), std::min(a.end_unix_nano, b.end_unix_nano)};
}

Ranges ranges_of_spans(const TimelineThread& thread) {
  Ranges ranges;
  for (const TimelineSpan& span : thread.spans) ranges.push_back({span.begin_unix_nano, span.end_unix_nano});
  return joined(std::move(ranges));
}

// A thread, and the ranges of time in which others waited for it.
struct Awaited {
  TimelineProcess* process = nullptr;
  TimelineThread* thread = nullptr;
  Ranges ranges;
};

class WakerChain {
 public:
  WakerChain(Timeline& timeline, Meter& meter) : meter_(meter) {
    for (TimelineProcess& process : timeline.processes) {
      if (!meter_.spend(process.threads.size() * kThreadBytes)) return;
      for (TimelineThread& thread : process.threads) add(process, thread);
    }
  }

  void run() {
    for (int step = 0; step < kMostSteps && !awaited_.empty() && meter_.going_on(); ++step) {
      std::map<const TimelineThread*, Awaited> next;
      for (const Awaited& awaited : awaited_) follow(awaited, next);
      awaited_.clear();
      for (auto& [thread, awaited] : next) {
        followed_.insert(thread);
        awaited.ranges = joined(std::move(awaited.ranges));
        awaited_.push_back(std::move(awaited));
      }
    }
  }

 private:
  static constexpr uint64_t kThreadBytes = 128;  // estimated size of a thread in a map
  using Key = std::pair<store::NodeId, uint32_t>;

  void add(TimelineProcess& process, TimelineThread& thread) {
    threads_.try_emplace({process.node_id, thread.tid}, &process, &thread);
    if (!thread.of_trace) return;
    followed_.insert(&thread);
    awaited_.push_back({&process, &thread, ranges_of_spans(thread)});
  }

  // Follows the thread's waits within the ranges. States and ranges are sorted by time.
  void follow(const Awaited& awaited, std::map<const TimelineThread*, Awaited>& next) {
    const auto& states = awaited.thread->states;
    if (!meter_.step(states.size() + awaited.ranges.size())) return;
    auto range = awaited.ranges.begin();
    uint64_t told_unix_nano = 0;  // states of two captures may overlap; each time counts once
    for (const TimelineState& state : states) {
      const StateInterval& wait = state.interval;
      const Range part{std::max(wait.begin_nano, told_unix_nano), wait.end_nano};
      if (part.end_unix_nano <= part.begin_unix_nano) continue;
      told_unix_nano = part.end_unix_nano;
      while (range != awaited.ranges.end() && range->end_unix_nano <= part.begin_unix_nano) ++range;
      if (!is_blocked(wait.state) || wait.waker == nullptr) continue;
      for (auto at = range; at != awaited.ranges.end() && at->begin_unix_nano < part.end_unix_nano; ++at) {
        if (!meter_.step()) return;
        ended(awaited, *wait.waker, common(*at, part), next);
      }
    }
  }

  void ended(const Awaited& by, const capture::KernelEvent& waker, const Range& wait,
             std::map<const TimelineThread*, Awaited>& next) {
    auto found = threads_.find({by.process->node_id, static_cast<uint32_t>(waker.other_tid)});
    if (waker.other_tid == 0 || found == threads_.end() || found->second.second == by.thread) return;
    const auto [process, thread] = found->second;
    thread->ended_waits_nano += wait.end_unix_nano - wait.begin_unix_nano;
    if (followed_.contains(thread) || !meter_.spend(sizeof wait)) return;
    Awaited& awaited = next[thread];
    awaited.process = process;
    awaited.thread = thread;
    awaited.ranges.push_back(wait);
  }

  Meter& meter_;
  std::map<Key, std::pair<TimelineProcess*, TimelineThread*>> threads_;
  std::set<const TimelineThread*> followed_;
  std::vector<Awaited> awaited_;
};

// Spans are sorted by begin.
uint64_t first_span_unix_nano(const TimelineThread& thread) {
  return thread.spans.empty() ? UINT64_MAX : thread.spans.front().begin_unix_nano;
}

bool stands_before(const TimelineThread& a, const TimelineThread& b) {
  if (a.of_trace != b.of_trace) return a.of_trace;
  if (a.of_trace) {
    const uint64_t first_of_a = first_span_unix_nano(a), first_of_b = first_span_unix_nano(b);
    if (first_of_a != first_of_b) return first_of_a < first_of_b;
  }
  return a.ended_waits_nano > b.ended_waits_nano;
}

}  // namespace

Result<> order_threads(Timeline& timeline, store::QueryBudget& budget) {
  Meter meter(budget);
  WakerChain(timeline, meter).run();
  if (!meter.going_on()) return meter.result();
  for (TimelineProcess& process : timeline.processes) std::ranges::stable_sort(process.threads, stands_before);
  return {};
}

}  // namespace fathom::query
