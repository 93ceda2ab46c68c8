// The JSON of snapshots: rows of lists, the document of one, what a trace says of them; docs/api.md describes them.
//
// Thread safety: plain functions. Errors: kExhausted when a list would pass the budget.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "net/json_writer.h"
#include "query/snapshots/snapshot_store.h"
#include "query/stores.h"

namespace fathom::query {

Result<std::string> snapshots_json(const Stores& stores, const std::vector<SharedSummary>& rows,
                                   const std::string& next_cursor, store::QueryBudget& budget);
// A description that cannot be read is a document that says so.
Result<std::string> snapshot_json(const SnapshotStore& store, const SnapshotSummary& summary,
                                  const Result<snapshot::Snapshot>& description);
void write_snapshot_of_trace(net::JsonWriter& json, const SnapshotSummary& summary);

}  // namespace fathom::query
