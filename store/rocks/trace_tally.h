// TraceTally: the facts of a trace's spans that can be added up without reading the spans again.
//
// Purpose: the tally of several parts of a trace is the sum of the parts' tallies, so that sealing and retention handle
// a trace of any size part by part. Completeness is not among these facts: it needs the ids of all spans. Thread
// safety: plain values. Units: nanoseconds of corrected time. Errors: read_tally() treats its input as hostile.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "store/rocks/trace_rows.h"

namespace fathom::store {

struct TraceTally {
  TraceRow first;  // the earliest row; its parent is not kept
  TraceRow root;   // the earliest row without a parent, if `has_root`
  bool has_root = false;
  bool error = false;
  uint64_t end_unix_nano = 0;
  uint64_t first_sequence = UINT64_MAX;
  uint64_t spans = 0;  // rows that were added; equal rows count each time

  void add(const TraceRow& row);
  void add(const TraceTally& other);
  bool empty() const { return spans == 0; }
  // Not of an empty tally. `complete`, `grown` and `oversized` are left false.
  TraceSummary summary() const;
};

// What a summary says of its spans. It does not say when the root started, nor which span was the first if there is a
// root: the root counts as the first span.
TraceTally tally_of(const TraceSummary& summary);

// docs/formats/block.md
void write_tally(const TraceTally& tally, std::string& out);
// Sets the reader's failure when the bytes are damaged.
TraceTally read_tally(ByteReader& in);

}  // namespace fathom::store
