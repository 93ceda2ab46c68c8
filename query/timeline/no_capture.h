// Why a process of a timeline has no capture of this request, or only of a part of it.
//
// Purpose: whoever looks at a slow request shall read the reason, not a list of what it may be, and nothing that is not
// known. In this order: what the process's agent reported of this trace; that the service does not use fathom's client,
// or that its host has no agent besides; that its agent makes no captures; that captures of its period are still to
// come; that captures of other requests were left out; that its agent is not known, or its report may be missing; that
// nothing triggered one. Thread safety: plain functions. Errors: the store's, and the budget's.
#pragma once

#include "query/timeline/timeline_query.h"

namespace fathom::query {

// Besides the names of SkipReason.
inline constexpr std::string_view kNoAgent = "no_agent";
inline constexpr std::string_view kNoClient = "no_client";
inline constexpr std::string_view kCapturesOff = "captures_off";
inline constexpr std::string_view kNotYet = "not_yet";
inline constexpr std::string_view kBudget = "budget";
inline constexpr std::string_view kReasonUnknown = "unknown";
inline constexpr std::string_view kNoTrigger = "no_trigger";

// Of the processes of whose spans captures have not all of the time (captured_time.h), where all of a trace is asked
// for. `timeline` has its spans placed.
Result<> explain_no_captures(const Stores& stores, const TimelineQuery& query, Timeline& timeline,
                             store::QueryBudget& budget);

}  // namespace fathom::query
