// TraceRow: the few facts of a span from which a trace is summarised, and the one function that does it.
//
// Purpose: unsealed rows, sealed columns and retention all describe a trace through summarise(), so that there is one
// meaning of duration, root, completeness and count. Thread safety: plain values. Units: in names.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "store/block/summary.h"
#include "store/span.h"

namespace fathom::store {

struct TraceRow {
  SpanId span_id;
  SpanId parent_span_id;
  uint64_t start_unix_nano = 0;  // corrected
  uint64_t duration_nano = 0;
  uint64_t sequence = 0;  // reception
  uint32_t operation = 0;
  bool error = false;

  uint64_t end_unix_nano() const { return end_of(start_unix_nano, duration_nano); }
};

// The order in which the earliest row is chosen: start, span id, reception, operation, then the longer first.
bool earlier(const TraceRow& a, const TraceRow& b);

// `rows` must not be empty and hold no row twice.
TraceSummary summarise(const std::vector<TraceRow>& rows);

}  // namespace fathom::store
