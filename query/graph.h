// The graph of services: who calls whom, how often, how long it takes and how often it fails; docs/api.md describes it.
//
// Thread safety: plain functions. Units: in names. Errors: as the store's.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "query/queries.h"
#include "store/span_store.h"

namespace fathom::query {

struct GraphAnswer {
  ServicesAnswer services;
  store::CallSample calls;  // of the same minutes; edges' calls and errors scaled up from those looked at
};

Result<GraphAnswer> run_graph(store::SpanStore& store, const store::TimeRange& range, uint64_t now_unix_nano,
                              store::QueryBudget& budget);

std::string to_json(const GraphAnswer& answer);

}  // namespace fathom::query
