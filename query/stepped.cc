#include "query/stepped.h"

#include <algorithm>
#include <iterator>

#include "query/snapshots/snapshot_store.h"
#include "query/timeline/process_finder.h"

namespace fathom::query {

namespace {

using store::StoredSpan;

// With what clocks may be wrong by.
store::TimeRange widened(const store::TimeRange& range) {
  return {range.from_unix_nano - std::min(range.from_unix_nano, kMostSkewNano),
          store::end_of(range.to_unix_nano, kMostSkewNano)};
}

store::TimeRange range_of_row(const SlowestRow& row) {
  return {row.start_unix_nano, store::end_of(row.start_unix_nano, row.duration_nano)};
}

bool meets(const SteppedWindow& window, const store::TimeRange& range) {
  return window.begin_unix_nano < range.to_unix_nano && window.end_unix_nano > range.from_unix_nano;
}

using Spans = SteppedFinder::Spans;

Spans by_id(const store::StoredTrace& trace) {
  Spans spans;
  for (const StoredSpan& stored : trace.spans) spans.emplace(stored.span.span_id, &stored);
  return spans;
}

// From its caller's begin on: a call lies unread before a process that is held, whose span of it begins only when it is
// let go.
uint64_t awaited_since(const Spans& spans, const StoredSpan& stored) {
  const auto caller = spans.find(stored.span.parent_span_id);
  return caller == spans.end()
             ? store::corrected_start_unix_nano(stored)
             : std::min(store::corrected_start_unix_nano(stored), store::corrected_start_unix_nano(*caller->second));
}

// The part of the time that the span was waited for in which it was stepped; `from` is not before `to` where there is
// none.
store::TimeRange stepped_part(const Spans& spans, const StoredSpan& stored, const SteppedWindow& window) {
  const uint64_t end = store::end_of(stored.span.start_unix_nano, stored.span.duration_nano());
  return {std::max(awaited_since(spans, stored), corrected_unix_nano(window.begin_unix_nano, stored.clock)),
          corrected_unix_nano(std::min(end, window.end_unix_nano), stored.clock)};
}

// Of every container: its id says nothing.
constexpr int32_t kFirstProcess = 1;

}  // namespace

SteppedFinder::SteppedFinder(const Stores& stores, store::TimeRange range) : stores_(stores) {
  if (stores.snapshots != nullptr) processes_ = stores.snapshots->stepped(widened(range));
}

bool SteppedFinder::may_touch(const SlowestRow& row) const {
  if (row.spans > kMostSteppedSpans) return false;
  const store::TimeRange near = widened(range_of_row(row));
  return std::ranges::any_of(processes_, [&](const auto& process) { return meets(process.window, near); });
}

Result<> SteppedFinder::mark(SlowestRow& row, store::QueryBudget& budget) const {
  if (!may_touch(row)) return {};
  auto trace = stores_.spans.trace(row.trace_id, budget);
  if (!trace) return trace.error().code == ErrorCode::kNotFound ? Result<>() : trace.error();
  const Spans spans = by_id(*trace);
  for (const SteppedProcess& process : processes_) {
    auto stepped = was_stepped(*trace, spans, process, range_of_row(row), budget);
    if (!stepped) return stepped.error();
    if ((row.stepped = *stepped)) break;
  }
  return {};
}

Result<std::vector<SteppedProcess>> SteppedFinder::of_trace(const store::StoredTrace& trace,
                                                            store::QueryBudget& budget) const {
  std::vector<SteppedProcess> found;
  const Spans spans = by_id(trace);
  for (const SteppedProcess& process : processes_) {
    auto stepped = was_stepped(trace, spans, process, {}, budget);
    if (!stepped) return stepped.error();
    if (*stepped) found.push_back(process);
  }
  return found;
}

Result<bool> SteppedFinder::was_stepped(const store::StoredTrace& trace, const Spans& spans,
                                        const SteppedProcess& process, const store::TimeRange& within,
                                        store::QueryBudget& budget) const {
  for (const StoredSpan& stored : trace.spans) {
    const store::TimeRange part = stepped_part(spans, stored, process.window);
    const bool inside =
        std::max(part.from_unix_nano, within.from_unix_nano) < std::min(part.to_unix_nano, within.to_unix_nano);
    if (!inside) continue;
    auto is_its = is_of(stored, process, budget);
    if (!is_its || *is_its) return is_its;
  }
  return false;
}

Result<bool> SteppedFinder::is_of(const StoredSpan& stored, const SteppedProcess& process,
                                  store::QueryBudget& budget) const {
  const Origin origin = origin_of(stored);
  if (origin.pid != std::to_string(process.window.pid)) return false;
  if (!origin.host.empty()) return origin.host == process.host;
  const ProcessIdentity identity = identity_of(stored);
  if (!may_run(identity, process.programs)) return false;
  auto known = known_of(process, budget);
  if (!known) return known.error();
  const std::optional<ProcessIdentity>& other = **known;
  if (other && contradict(*other, identity)) return false;
  if (process.window.pid != kFirstProcess) return true;
  return other && (stored.span.trace_id == process.trace_id || same_instance(*other, identity));
}

Result<const std::optional<ProcessIdentity>*> SteppedFinder::known_of(const SteppedProcess& process,
                                                                      store::QueryBudget& budget) const {
  const auto [at, is_new] = known_.try_emplace({process.snapshot, process.window.pid});
  if (!is_new || process.trace_id.is_zero()) return &at->second;
  auto trace = stores_.spans.trace(process.trace_id, budget);
  if (!trace && trace.error().code != ErrorCode::kNotFound) return trace.error();
  for (const StoredSpan& stored : trace ? trace->spans : std::vector<StoredSpan>()) {
    const bool is_it = stored.span.span_id == process.span_id;
    if (is_it && origin_of(stored).pid == std::to_string(process.window.pid)) at->second = identity_of(stored);
  }
  return &at->second;
}

void write_stepped(net::JsonWriter& json, const std::vector<SteppedProcess>& processes) {
  if (processes.empty()) return;
  json.key("stepped").begin_array();
  for (const SteppedProcess& process : processes) {
    const SteppedWindow& window = process.window;
    json.begin_object().member("snapshot_id", std::string_view(process.snapshot.hex()));
    json.member("host", std::string_view(process.host)).member("pid", window.pid);
    json.member("start_time_unix_nano", std::string_view(std::to_string(window.begin_unix_nano)));
    json.member("duration_nano", window.end_unix_nano - std::min(window.end_unix_nano, window.begin_unix_nano));
    json.end_object();
  }
  json.end_array();
}

}  // namespace fathom::query
