// TraceName: a trace as people name it: by its id, or by how that begins, as git's commits.
//
// Thread safety: plain values; resolve() on any thread. Errors: kInvalid for what names none, and for a beginning that
// several have, with the first of them; kNotFound where no stored trace begins so; else the store's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "query/stores.h"
#include "store/span_store.h"

namespace fathom::query {

inline constexpr size_t kLeastTraceDigits = 8;  // of 32

struct TraceName {
  std::string text;
  store::TraceIdRange range;  // one alone, where all of the id is there
};

Result<TraceName> trace_name(std::string_view text);

// A whole id is itself, whether or not there is such a trace.
Result<TraceId> resolve(const Stores& stores, const TraceName& name, store::QueryBudget& budget);

}  // namespace fathom::query
