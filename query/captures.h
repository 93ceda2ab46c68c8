// What is asked of captures: which there are, what one says, its bytes.
//
// Purpose: as queries.h, for the detail that agents kept of traces. Thread safety: the functions may run on any thread,
// several at once. Units: in names. Errors: as the store's; kInvalid for a cursor that is not this query's; kNotFound
// names what is not there. A capture that cannot be read or decoded is an answer that says so, but for its bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/capture.h"
#include "net/json_writer.h"
#include "query/stores.h"

namespace fathom::query {

struct CapturesQuery {
  store::CaptureFilter filter;
  std::string range_text;  // as it was asked for: the cursor is bound to it
  size_t limit = 20;
  std::string cursor;  // empty: the first page
};

struct CapturesAnswer {
  std::vector<store::StoredCapture> rows;  // newest first
  std::string next_cursor;                 // empty: this was the last page
};

Result<CapturesAnswer> run_captures(const Stores& stores, CapturesQuery query, store::QueryBudget& budget);
// All of a trace; none where nothing keeps captures.
Result<std::vector<store::StoredCapture>> captures_of(const Stores& stores, const TraceId& trace_id,
                                                      store::QueryBudget& budget);
Result<store::StoredCapture> find_capture(const Stores& stores, const store::CaptureId& id);

// The document of one capture: its header, and a summary of its content.
Result<std::string> run_capture(const Stores& stores, const store::CaptureId& id, store::QueryBudget& budget);
// The bytes that the agent sent, whose hash was looked at.
Result<std::string> run_content(const Stores& stores, const store::CaptureId& id, store::QueryBudget& budget);
// kExhausted: decoding needs more than `most_bytes` of memory. The query can go on; its budget has paid for them.
Result<capture::Capture> decoded_content(const Stores& stores, const store::StoredCapture& stored,
                                         store::QueryBudget& budget, uint64_t most_bytes = UINT64_MAX);

std::string to_json(const CapturesAnswer& answer);
// The members of a capture's header, into an object that is open.
void write_capture(net::JsonWriter& json, const store::StoredCapture& stored);

}  // namespace fathom::query
