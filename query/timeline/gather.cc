#include "query/timeline/gather.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "query/captures.h"
#include "query/snapshots/snapshot_queries.h"
#include "query/timeline/covering_captures.h"

namespace fathom::query {

namespace {

using store::StoredCapture;

// Upper estimate of a capture's size in memory, in units of its size in bytes.
constexpr uint64_t kDecodedRatio = 16;

Result<std::vector<StoredCapture>> asked_captures(const Stores& stores, const TimelineQuery& query,
                                                  store::QueryBudget& budget) {
  if (query.subject.capture) {
    auto one = find_capture(stores, *query.subject.capture);
    if (!one) return one.error();
    return std::vector{*std::move(one)};
  }
  auto found = captures_of(stores, *query.subject.trace, budget);
  if (!found || !query.capture) return found;
  std::erase_if(*found, [&](const StoredCapture& stored) { return stored.info.id != *query.capture; });
  if (found->empty())
    return not_found("trace " + query.subject.trace->hex() + " has no capture " + query.capture->hex());
  return found;
}

Result<store::StoredTrace> asked_trace(const Stores& stores, const TraceId& id, bool has_captures,
                                       store::QueryBudget& budget) {
  store::StoredTrace none{.trace_id = id};
  if (id.is_zero()) return none;
  auto trace = stores.spans.trace(id, budget);
  if (trace || trace.error().code != ErrorCode::kNotFound) return trace;
  if (has_captures) return none;
  return not_found("neither a span nor a capture of trace " + id.hex() +
                   " is stored; it may be older than the retention");
}

TimelineCapture with_content(StoredCapture stored, Result<capture::Capture> content) {
  TimelineCapture capture{.stored = std::move(stored)};
  capture.clock = capture.stored.info.clock;
  if (content) {
    capture.content = std::make_unique<capture::Capture>(*std::move(content));
  } else {
    capture.problem = content.error().message;
  }
  return capture;
}

Result<TimelineCapture> opened(const Stores& stores, StoredCapture stored, store::QueryBudget& budget) {
  auto content = decoded_content(stores, stored, budget);
  if (auto going_on = budget.check(); !going_on) return going_on.error();
  return with_content(std::move(stored), std::move(content));
}

using PossibleCapture = std::optional<TimelineCapture>;

// Empty: decoding would need more than half of the remaining budget, and the rest of the answer needs the other half.
Result<PossibleCapture> opened_within_half(const Stores& stores, StoredCapture stored, store::QueryBudget& budget) {
  const uint64_t most_bytes = budget.left_bytes() / 2;
  if (stored.info.size_bytes > most_bytes / kDecodedRatio) return PossibleCapture();
  auto content = decoded_content(stores, stored, budget, most_bytes);
  if (auto going_on = budget.check(); !going_on) return going_on.error();
  if (!content && content.error().code == ErrorCode::kExhausted) return PossibleCapture();
  return PossibleCapture(with_content(std::move(stored), std::move(content)));
}

// Adds the capture if it has what the other captures of its process lack. A capture that cannot be decoded is listed
// with the problem.
void add_if_needed(Timeline& timeline, TimelineCapture capture, CoveredProcess& process) {
  if (capture.content && !process.recorded.is_extended_by(capture, process.period)) return;
  process.recorded.add(capture);
  timeline.captures.push_back(std::move(capture));
}

// Adds captures of other requests. The query must not fail because of them.
Result<> add_covering(const Stores& stores, Timeline& timeline, store::QueryBudget& budget) {
  auto covering = covering_captures(stores, timeline.trace, timeline.captures, budget);
  if (!covering) return covering.error();
  timeline.captures_left_out = covering->failed_searches;
  timeline.left_out_of = std::move(covering->not_searched);
  for (CoveringCapture& one : covering->found) {
    auto capture = opened_within_half(stores, std::move(one.stored), budget);
    if (!capture) return capture.error();
    if (*capture) {
      add_if_needed(timeline, **std::move(capture), covering->processes[one.origin]);
    } else {
      ++timeline.captures_left_out;
      timeline.left_out_of.insert(std::move(one.origin));
    }
  }
  return {};
}

uint32_t pid_of(const TimelineCapture& capture) {
  return capture.content && capture.content->pid != 0 ? capture.content->pid : capture.stored.info.pid;
}

std::pair<uint64_t, uint64_t> window_of(const TimelineCapture& capture) {
  return {capture.content->begin_nano, capture.content->end_nano};
}

TimelineProcess new_process(const TimelineCapture& capture) {
  const store::CaptureInfo& info = capture.stored.info;
  return {.node_id = info.node_id, .host_name = info.node_name, .service = info.service, .pid = pid_of(capture)};
}

void sort_into_processes(Timeline& timeline) {
  std::map<std::pair<store::NodeId, uint32_t>, size_t> known;
  for (size_t i = 0; i < timeline.captures.size(); ++i) {
    const TimelineCapture& capture = timeline.captures[i];
    auto [found, fresh] = known.try_emplace({capture.stored.info.node_id, pid_of(capture)}, known.size());
    if (fresh) timeline.processes.push_back(new_process(capture));
    TimelineProcess& process = timeline.processes[found->second];
    if (timeline.captures[i].content) process.captures.push_back(i);
  }
  for (TimelineProcess& process : timeline.processes) {
    std::ranges::stable_sort(process.captures, {}, [&](size_t i) { return window_of(timeline.captures[i]); });
  }
}

}  // namespace

uint64_t TimelineCapture::unix_nano(uint64_t monotonic_nano) const {
  if (!content->anchors.empty()) {
    return corrected_unix_nano(capture::unix_nano_at(*content, monotonic_nano), clock);
  }
  // Without anchors the header knows when the window began, and has corrected it.
  int64_t passed = static_cast<int64_t>(monotonic_nano - content->begin_nano);
  return corrected_unix_nano(stored.info.start_unix_nano, ClockOffset{passed, 0});
}

Result<Timeline> gather(const Stores& stores, const TimelineQuery& query, store::QueryBudget& budget) {
  auto captures = asked_captures(stores, query, budget);
  if (!captures) return captures.error();
  TraceId trace_id = query.subject.trace ? *query.subject.trace : captures->front().info.trace_id;
  auto trace = asked_trace(stores, trace_id, !captures->empty(), budget);
  if (!trace) return trace.error();
  Timeline timeline{.trace_id = trace_id, .complete = trace->complete};
  timeline.left_out = trace->spans_at_most - std::min<uint64_t>(trace->spans_at_most, trace->spans.size());
  timeline.trace = *std::move(trace);
  for (const StoredCapture& stored : *captures) {
    auto capture = opened(stores, stored, budget);
    if (!capture) return capture.error();
    timeline.captures.push_back(*std::move(capture));
  }
  if (query.subject.trace && !query.capture) {
    if (auto added = add_covering(stores, timeline, budget); !added) return added.error();
  }
  timeline.snapshots = snapshots_of(stores, trace_id);
  sort_into_processes(timeline);
  return timeline;
}

}  // namespace fathom::query
