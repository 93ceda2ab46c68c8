// TraceSummary: what is known of a whole trace without reading its spans.
//
// Purpose: one small record per trace and segment, kept in the block's first column and in the trace index; searches by
// trace read nothing else. When earlier segments hold spans of the trace too, the summary is cumulative over them, so
// that the newest one always speaks for the whole trace. Thread safety and ownership: a plain value.
// Units: nanoseconds; start is corrected time. Errors: decode_summary treats its input as hostile.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

namespace fathom::store {

struct TraceSummary {
  uint64_t start_unix_nano = 0;     // corrected; the earliest
  uint64_t duration_nano = 0;       // latest end minus earliest start
  uint64_t root_duration_nano = 0;  // 0 without a root
  SpanId root_span_id;              // the root's, or the earliest span's while there is no root
  uint32_t root_operation = 0;      // catalogue id of that span's operation
  uint64_t spans = 0;
  uint64_t first_sequence = 0;  // reception sequence of the batch that first brought a span of the trace
  bool has_root = false;
  bool complete = false;  // no stored span names a parent that is not stored
  bool error = false;     // any span's status is an error
  bool grown = false;     // earlier segments hold spans of this trace too
  // The trace passed the limit of spans (span_store.h): `complete` is false because it is not known, and `spans` is an
  // upper bound.
  bool oversized = false;

  bool operator==(const TraceSummary&) const = default;
};

// The five flags as one byte, the same bits wherever a summary is written.
uint8_t summary_flags(const TraceSummary& summary);
void set_summary_flags(TraceSummary& summary, uint8_t flags);

// Self-contained form, for the trace index (docs/formats/block.md).
void encode_summary(const TraceSummary& summary, std::string& out);
// Takes one summary off the front of `in`.
Result<TraceSummary> decode_summary(ByteReader& in);

}  // namespace fathom::store
