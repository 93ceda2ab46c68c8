// explain_no_captures(): why a process of a timeline has no capture of the request, or only of a part of it.
//
// Purpose: show one reason that is known, not a list of possible ones. The order of reasons: the report of the
// process's agent; no fathom client, or no agent on the host either; an agent without captures; captures of the period
// are still to come; captures of other requests were left out; an unknown agent, or a report that may be missing;
// nothing triggered a capture. Thread safety: plain functions. Errors: the store's, and the budget's. docs/api.md
// describes the reasons.
#pragma once

#include "query/timeline/timeline_query.h"

namespace fathom::query {

// Reasons besides the names of SkipReason.
inline constexpr std::string_view kNoAgent = "no_agent";
inline constexpr std::string_view kNoClient = "no_client";
inline constexpr std::string_view kCapturesOff = "captures_off";
inline constexpr std::string_view kNotYet = "not_yet";
inline constexpr std::string_view kBudget = "budget";
inline constexpr std::string_view kReasonUnknown = "unknown";
inline constexpr std::string_view kNoTrigger = "no_trigger";

// Sets no_capture of each process whose spans' time is not completely captured (captured_time.h), if the query is for a
// whole trace. The spans of `timeline` must have been placed.
Result<> explain_no_captures(const Stores& stores, const TimelineQuery& query, Timeline& timeline,
                             store::QueryBudget& budget);

}  // namespace fathom::query
