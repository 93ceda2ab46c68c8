// Decoding of events: from the copies of a snapshot to names, keys and typed values.
//
// Purpose: what `fathom timeline` and tests see. Thread safety: pure functions. Ownership: an EventView points into the
// snapshot and into the decoder's own memory, and lives as long as the call that has it; the tracepoint as long as the
// snapshot. Errors: none; what cannot be decoded is counted. Hostility: sizes of values are checked against what is
// there, and an event has no more values than its tracepoint has fields.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node-agent/detail/detail_snapshot.h"
#include "node-agent/detail/record_walk.h"

namespace fathom::agent {

struct FieldValue {
  const TracepointField* field = nullptr;
  int64_t integer = 0;    // kInt8 to kInt64
  uint64_t natural = 0;   // kUint8 to kUint64, kBool
  double real = 0;        // kFloat, kDouble
  std::string_view text;  // kString, kBytes
  bool cut = false;       // the text's end is missing
};

struct EventView {
  uint64_t ticks = 0;
  uint32_t tid = 0;
  const Tracepoint* tracepoint = nullptr;
  std::span<const FieldValue> values;
  std::span<const pool::SpanRef> spans;
  bool spans_certain = true;
};

struct DecodeCounts {
  WalkCounts walk;
  uint64_t unknown_tracepoints = 0;  // events that nothing describes
  uint64_t malformed_payloads = 0;   // events whose values do not fit into them; those that do are there
};

// Copies of chunks, the oldest first, so that events come nearly by time.
std::vector<const ChunkCopy*> by_age(const DetailSnapshot& snapshot);
void add(WalkCounts& sum, const WalkCounts& counts);

// All events of the window, chunk by chunk, the oldest first, in each by address. `take` says whether the payload
// (payload.h) had all that its tracepoint has: bool(const DetailRecord&, const Tracepoint&).
template <typename Take>
DecodeCounts walk_events(const DetailSnapshot& snapshot, Take&& take) {
  DecodeCounts counts;
  for (const ChunkCopy* chunk : by_age(snapshot)) {
    ChunkView view = chunk->view;
    view.table = &snapshot.table;
    view.asked_from_ticks = snapshot.window.begin_ticks;
    RecordWalk walk(view);
    DetailRecord record;
    while (walk.next(record)) {
      if (record.ticks < snapshot.window.begin_ticks || record.ticks > snapshot.window.end_ticks) continue;
      const Tracepoint* tracepoint = snapshot.table.find(record.kind);
      if (tracepoint == nullptr) {
        ++counts.unknown_tracepoints;
      } else if (!take(record, *tracepoint)) {
        ++counts.malformed_payloads;
      }
    }
    add(counts.walk, walk.counts());
  }
  return counts;
}
// The same with values.
DecodeCounts decode(const DetailSnapshot& snapshot, const std::function<void(const EventView&)>& take);

// False: not all fit. `exact`: nothing may be left over (of a short record its padding is).
bool decode_payload(const Tracepoint& tracepoint, std::string_view payload, bool exact,
                    std::vector<FieldValue>& values);

// cache.miss key="a\x00b" bytes=7; a cut text ends with "..., bytes are 0x01ff.
std::string to_text(const EventView& event);

}  // namespace fathom::agent
