// The rows of the model: decoded spans that own their memory, and the traces that they form.
//
// Purpose: collapse, conflict, root, extent and completeness, each as span_store.h defines it. Thread safety: rows are
// immutable once made. Ownership: a Row holds the batch that its views point into. Units: in names.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/span_store.h"

namespace fathom::store::model {

struct Row {
  BatchPtr batch;
  Batch::Scratch scratch;
  StoredSpan stored;              // its views point into `batch` and `scratch`
  OperationKey operation;         // as answers show it
  uint64_t operation_number = 0;  // in order of first reception
  bool repeated = false;          // an equal row was stored when this one came: it counts in sketches only
  std::string content;
  uint64_t sequence = 0;
  uint64_t partition = 0;
  uint64_t start_unix_nano = 0;  // corrected
  uint64_t end_unix_nano = 0;    // corrected

  bool is_root() const { return stored.span.parent_span_id.is_zero(); }
  bool is_error() const { return stored.span.status == StatusCode::kError; }
};
using RowPtr = std::shared_ptr<const Row>;

// The row without what the store decides: operation, sequence, partition, repetition.
std::shared_ptr<Row> decode_row(const BatchPtr& batch, const Batch::Row& encoded);

struct Trace {
  // By corrected start, then span id, then reception, then operation number, then the longer first.
  std::vector<RowPtr> spans;
  bool oversized = false;

  uint64_t start_unix_nano() const;
  uint64_t duration_nano() const;
  uint64_t first_sequence() const;
  bool complete() const;
  bool error() const;
  // The earliest span without a parent; null while none is stored.
  const Row* root() const;
};

using Traces = std::map<TraceId, Trace>;
Traces group_traces(const std::vector<RowPtr>& rows);

bool matches_conditions(const Row& row, const Filter& filter);
bool matches_duration(uint64_t duration_nano, const Filter& filter);

// What slowest() and find() show of a trace, and of one of its spans.
SlowRow trace_row(const Trace& trace);
SlowRow span_row(const Trace& trace, const Row& row);

}  // namespace fathom::store::model
