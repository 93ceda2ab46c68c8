// What is asked of snapshots: which there are, what one is, its bytes, and what fathom-worker makes of them.
//
// Purpose: as captures.h, for snapshots. Thread safety: the functions may run on any thread, several at once. Units: in
// names. Errors: as the store's; kInvalid for a cursor that is not this query's; kNotFound names what is not there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/json_writer.h"
#include "query/snapshots/snapshot_index.h"
#include "query/snapshots/uploads.h"
#include "query/stores.h"

namespace fathom::query {

struct SnapshotsQuery {
  SnapshotFilter filter;
  std::string range_text;  // as it was asked for: the cursor is bound to it
  size_t limit = 20;
  std::string cursor;  // empty: the first page
};

struct SnapshotPosition {
  store::TimeRange range;
  SnapshotCursor cursor;
};

// The text of the end of a page: version u8; from, to, instant u64 each; snapshot id 16 bytes; sealed_cursor.h.
uint64_t query_hash(const SnapshotsQuery& query);
std::string encode_snapshot_cursor(const SnapshotPosition& position, uint64_t query_hash);
Result<SnapshotPosition> decode_snapshot_cursor(std::string_view text, uint64_t query_hash);

Result<std::string> run_snapshots(const Stores& stores, SnapshotsQuery query, store::QueryBudget& budget);
// The document of one: its row, its threads, its images.
Result<std::string> run_snapshot(const Stores& stores, const SnapshotId& id, store::QueryBudget& budget);
Result<std::string> run_snapshot_bytes(const Stores& stores, const ContentName& name, uint64_t offset, size_t size,
                                       store::QueryBudget& budget);

struct SnapshotQuestion {
  SnapshotId id;
  std::optional<SnapshotId> other;  // that it is compared with
  std::vector<std::string> words;   // of fathom-worker: the verb, the id, and what follows
};
Result<std::string> run_question(const Stores& stores, const SnapshotQuestion& question, store::QueryBudget& budget);

struct SourceQuestion {
  SnapshotId id;
  std::string file;  // as rows of the snapshot name it
  std::string ask;   // to the view: whether a line of the snapshot is of the file
  uint32_t line = 0;
  uint32_t context = 0;
};
Result<std::string> run_source(const Stores& stores, const SourceQuestion& question, store::QueryBudget& budget);

// Those that say they are of this trace.
std::vector<SharedSummary> snapshots_of(const Stores& stores, const TraceId& trace_id);
// The member "snapshots" of a trace's documents; none where there are none.
void write_snapshots(net::JsonWriter& json, const std::vector<SharedSummary>& snapshots);

}  // namespace fathom::query
