#include "query/timeline/covering_captures.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/capture_window.h"
#include "base/time.h"

namespace fathom::query {

namespace {

using store::StoredCapture;

// Rows between two checks of the budget.
constexpr size_t kPageRows = 100;
constexpr uint64_t kShareOfSearch = 4;
constexpr uint64_t kOriginBytes = 256;  // estimated size in a set

using PeriodsOfOrigins = std::map<Origin, Period>;

void widen(Period& period, const store::StoredSpan& stored) {
  const uint64_t begin_nano = corrected_start_unix_nano(stored);
  period.begin_nano = std::min(period.begin_nano, begin_nano);
  period.end_nano = std::max(period.end_nano, begin_nano + stored.span.end_unix_nano - stored.span.start_unix_nano);
}

// `beyond`: gets the processes above the limit.
Result<PeriodsOfOrigins> periods_of(const store::StoredTrace& trace, std::set<Origin>& beyond,
                                    store::QueryBudget& budget) {
  PeriodsOfOrigins periods;
  for (const store::StoredSpan& stored : trace.spans) {
    Origin origin = origin_of(stored);
    if (periods.size() < kMostCoveredProcesses || periods.contains(origin)) {
      widen(periods[std::move(origin)], stored);
    } else if (beyond.insert(std::move(origin)).second) {
      if (Result<> spent = budget.spend(kOriginBytes); !spent) return spent.error();
    }
  }
  return periods;
}

// As in process_finder.h: an unknown host name may be a container's.
bool is_of(const StoredCapture& capture, const Origin& origin, bool host_is_known) {
  const store::CaptureInfo& info = capture.info;
  if (origin.names_process()) return info.node_id == origin.node_id && info.pid == origin.node_pid;
  if (info.service != origin.service || std::to_string(info.pid) != origin.pid) return false;
  return !host_is_known || info.node_name == origin.host;
}

bool overlaps(const StoredCapture& capture, const Period& period) {
  return capture.info.start_unix_nano < period.end_nano && capture.info.end_unix_nano > period.begin_nano;
}

// Prefers captures that cover the period's begin, and of these the one that ends last; else the one that starts first.
bool is_better(const store::CaptureInfo& one, const store::CaptureInfo& best, uint64_t begin_nano) {
  const bool has = one.start_unix_nano <= begin_nano, best_has = best.start_unix_nano <= begin_nano;
  if (has != best_has) return has;
  return has ? one.end_unix_nano > best.end_unix_nano : one.start_unix_nano < best.start_unix_nano;
}

class Search {
 public:
  Search(const Stores& stores, const std::vector<TimelineCapture>& own, store::QueryBudget& budget)
      : stores_(stores),
        own_(own),
        budget_(budget),
        share_(budget.deadline_monotonic_nano(), budget.left_bytes() / kShareOfSearch) {}

  Result<> find(const Origin& origin, const Period& whole) {
    Result<const Asked*> asked = asked_for(origin, whole);
    if (!asked) return asked.error();
    if ((*asked)->failed) {
      result_.not_searched.insert(origin);
      return {};
    }
    const std::vector<StoredCapture>& all = (*asked)->captures;
    const bool host_is_known = !origin.host.empty() && std::ranges::any_of(all, [&](const StoredCapture& capture) {
      return capture.info.node_name == origin.host;
    });
    const auto is_its = [&](const StoredCapture& capture) { return is_of(capture, origin, host_is_known); };
    CoveredProcess& process = result_.processes.try_emplace(origin, CoveredProcess{whole, {}}).first->second;
    for (const TimelineCapture& capture : own_) {
      if (is_its(capture.stored)) process.recorded.add(capture);
    }
    std::vector<StoredCapture> others;
    std::ranges::copy_if(all, std::back_inserter(others),
                         [&](const StoredCapture& capture) { return is_its(capture) && !is_known(capture); });
    size_t left = kMostExtraCaptures;
    for (const Period& period : process.recorded.missing(whole)) left = cover(origin, period, left, others);
    add_requested(origin, whole, others);
    return {};
  }
  CoveringCaptures take() { return std::move(result_); }

 private:
  // The key of a search: a process, or else a service.
  using Subject = std::tuple<store::NodeId, uint32_t, std::string>;
  struct Asked {
    uint64_t begin_nano = UINT64_MAX;
    uint64_t end_nano = 0;
    std::vector<StoredCapture> captures;
    bool failed = false;
  };

  // Returns how many captures may still be added.
  size_t cover(const Origin& origin, Period period, size_t left, std::vector<StoredCapture>& others) {
    for (; left > 0 && !period.is_empty(); --left) {
      auto next = best_for(period, others);
      if (next == others.end()) break;
      period.begin_nano = next->info.end_unix_nano;
      result_.found.push_back({std::move(*next), origin});
      others.erase(next);
    }
    return left;
  }
  void add_requested(const Origin& origin, const Period& whole, std::vector<StoredCapture>& others) {
    size_t left = kMostExtraCaptures;
    for (StoredCapture& other : others) {
      const bool is_requested = other.info.trigger == CaptureTrigger::kRequested && !other.damaged;
      if (!is_requested || !overlaps(other, whole)) continue;
      if (left-- == 0) return;
      result_.found.push_back({std::move(other), origin});
    }
  }
  static std::vector<StoredCapture>::iterator best_for(const Period& period, std::vector<StoredCapture>& captures) {
    auto best = captures.end();
    for (auto at = captures.begin(); at != captures.end(); ++at) {
      if (at->damaged || !overlaps(*at, period)) continue;
      if (best == captures.end() || is_better(at->info, best->info, period.begin_nano)) best = at;
    }
    return best;
  }

  bool is_known(const StoredCapture& capture) const {
    const auto is_same = [&](const StoredCapture& other) { return other.info.id == capture.info.id; };
    return std::ranges::any_of(own_, is_same, &TimelineCapture::stored) ||
           std::ranges::any_of(result_.found, is_same, &CoveringCapture::stored);
  }

  static Subject subject_of(const Origin& origin) {
    if (origin.names_process()) return {origin.node_id, origin.node_pid, ""};
    return {store::NodeId{}, 0, origin.service};
  }
  static store::CaptureFilter filter_for(const Origin& origin, const Asked& asked) {
    store::CaptureFilter filter;
    filter.range = {asked.begin_nano - std::min(asked.begin_nano, kLongestCaptureWindowNano), asked.end_nano};
    if (origin.names_process()) {
      filter.process = store::CaptureProcess{origin.node_id, origin.node_pid};
    } else {
      filter.service = origin.service;
    }
    return filter;
  }

  // Reuses an earlier search of the same subject: processes of one service mostly have the same period.
  Result<const Asked*> asked_for(const Origin& origin, const Period& period) {
    Asked& asked = asked_[subject_of(origin)];
    const bool is_there = asked.begin_nano <= period.begin_nano && period.end_nano <= asked.end_nano;
    if (is_there || asked.failed) return &asked;
    asked = {std::min(asked.begin_nano, period.begin_nano), std::max(asked.end_nano, period.end_nano), {}};
    const Result<> read = read_all(filter_for(origin, asked), asked.captures);
    // A search that fails is no error of the query, unless the query's own budget is exhausted.
    if (Result<> going_on = pay(); !going_on) return going_on.error();
    asked.failed = !read;
    if (!read) ++result_.failed_searches;
    return &asked;
  }

  Result<> read_all(const store::CaptureFilter& filter, std::vector<StoredCapture>& captures) {
    std::optional<store::CaptureCursor> cursor;
    do {
      if (Result<> going_on = pay(); !going_on) return going_on;
      auto page = stores_.captures->find(filter, std::min(kPageRows, kMostLooks - captures.size()), cursor, share_);
      if (!page) return page.error();
      std::ranges::move(page->rows, std::back_inserter(captures));
      cursor = page->next;
    } while (cursor && captures.size() < kMostLooks);
    return {};
  }

  // Charges the query's budget with what the search's share has spent since the last call.
  Result<> pay() {
    const uint64_t spent = share_.spent_bytes();
    return budget_.spend(spent - std::exchange(paid_bytes_, spent));
  }

  const Stores& stores_;
  const std::vector<TimelineCapture>& own_;
  store::QueryBudget& budget_;
  store::QueryBudget share_;
  uint64_t paid_bytes_ = 0;
  std::map<Subject, Asked> asked_;
  CoveringCaptures result_;
};

}  // namespace

Result<CoveringCaptures> covering_captures(const Stores& stores, const store::StoredTrace& trace,
                                           const std::vector<TimelineCapture>& own, store::QueryBudget& budget) {
  if (stores.captures == nullptr) return CoveringCaptures{};
  std::set<Origin> beyond;
  Result<PeriodsOfOrigins> periods = periods_of(trace, beyond, budget);
  if (!periods) return periods.error();
  Search search(stores, own, budget);
  for (const auto& [origin, period] : *periods) {
    if (Result<> found = search.find(origin, period); !found) return found.error();
  }
  CoveringCaptures result = search.take();
  result.not_searched.merge(beyond);
  return result;
}

}  // namespace fathom::query
