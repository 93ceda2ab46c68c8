// The query of a timeline, and its two output formats.
//
// Thread safety: the functions may run on any thread, several at once. Errors: as the store's; kNotFound if there is
// neither a span nor a capture; kExhausted if the budget is spent. Captures that cannot be read or decoded are listed
// with the problem.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "query/stores.h"
#include "query/timeline/timeline.h"

namespace fathom::query {

inline constexpr size_t kTimelineItems = 100'000;
inline constexpr size_t kMostTimelineItems = 1'000'000;

// One of these is set. For a capture: only that capture, with the spans of its trace.
struct TimelineSubject {
  std::optional<TraceId> trace = {};
  std::optional<store::CaptureId> capture = {};
};

struct TimelineQuery {
  TimelineSubject subject;
  std::optional<SpanId> span;               // only this span, its descendants, and its time
  std::optional<store::CaptureId> capture;  // only this capture
  bool all = false;                         // other threads, events of other requests, and the whole windows
  size_t most_items = kTimelineItems;       // limit of events, states, system calls and page faults together
  uint64_t now_unix_nano = 0;               // the time of the query
};

Result<Timeline> build_timeline(const Stores& stores, const TimelineQuery& query, store::QueryBudget& budget);

// The output is charged to the budget, because a capture of a few bytes can refer to a long text a million times.
Result<std::string> timeline_json(const Timeline& timeline, store::QueryBudget& budget);
// A trace of Perfetto's (proto/perfetto).
Result<std::string> timeline_perfetto(const Timeline& timeline, store::QueryBudget& budget);

Result<std::string> run_timeline(const Stores& stores, const TimelineQuery& query, store::QueryBudget& budget);
Result<std::string> run_perfetto(const Stores& stores, const TimelineQuery& query, store::QueryBudget& budget);

}  // namespace fathom::query
