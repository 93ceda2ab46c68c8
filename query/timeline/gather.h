// What a timeline is made of: the stored trace, and its captures, decoded and by process.
//
// Thread safety: plain functions. Errors: as build_timeline().
#pragma once

#include "query/timeline/timeline_query.h"

namespace fathom::query {

// A timeline with its trace, its captures, and a process for each that captures are of; no thread, no span yet.
Result<Timeline> gather(const Stores& stores, const TimelineQuery& query, store::QueryBudget& budget);

}  // namespace fathom::query
