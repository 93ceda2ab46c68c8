// What is asked of timelines, and the two ways in which one is told.
//
// Thread safety: the functions may run on any thread, several at once. Errors: as the store's; kNotFound when there is
// neither a span nor a capture of what is asked for; kExhausted when the budget is spent. Captures that cannot be read
// or decoded are named in the answer.
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

// Either is given. Of a capture: it alone, with the spans of its trace.
struct TimelineSubject {
  std::optional<TraceId> trace = {};
  std::optional<store::CaptureId> capture = {};
};

struct TimelineQuery {
  TimelineSubject subject;
  std::optional<SpanId> span;               // only it, and what is below it; only while it lasted
  std::optional<store::CaptureId> capture;  // only this one
  bool all = false;                         // threads and events of other requests, too, and all of the windows
  size_t most_items = kTimelineItems;       // events, states, system calls and page faults together
  uint64_t now_unix_nano = 0;               // when it is asked
};

Result<Timeline> build_timeline(const Stores& stores, const TimelineQuery& query, store::QueryBudget& budget);

// What is written down is spent like what was read: a capture of a few bytes can name a long text a million times.
Result<std::string> timeline_json(const Timeline& timeline, store::QueryBudget& budget);
// A trace of Perfetto's (proto/perfetto).
Result<std::string> timeline_perfetto(const Timeline& timeline, store::QueryBudget& budget);

Result<std::string> run_timeline(const Stores& stores, const TimelineQuery& query, store::QueryBudget& budget);
Result<std::string> run_perfetto(const Stores& stores, const TimelineQuery& query, store::QueryBudget& budget);

}  // namespace fathom::query
