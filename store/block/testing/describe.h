// A span and everything that belongs to it as one line of text: what round trips and golden files compare.
#pragma once

#include <string>

#include "store/block/segment_reader.h"

namespace fathom::store::block {

inline std::string describe(std::span<const AttributeView> attributes) {
  std::string out = "{";
  for (const AttributeView& a : attributes) {
    out += std::string(a.key) + ":" + std::to_string(static_cast<int>(a.value.type)) + "=" + to_hex(a.value.text) +
           "/" + std::to_string(a.value.bits) + ",";
  }
  return out + "}";
}

inline std::string describe(const SpanView& s) {
  std::string out = s.trace_id.hex() + " " + s.span_id.hex() + " " + s.parent_span_id.hex();
  for (uint64_t number : {s.start_unix_nano, s.end_unix_nano, static_cast<uint64_t>(s.kind),
                          static_cast<uint64_t>(s.status), uint64_t{s.flags}, uint64_t{s.dropped_attributes_count},
                          uint64_t{s.dropped_events_count}, uint64_t{s.dropped_links_count}}) {
    out += " " + std::to_string(number);
  }
  out += " '" + std::string(s.name) + "' '" + std::string(s.status_message) + "' '" + std::string(s.trace_state) + "' ";
  out += describe(s.attributes);
  for (const EventView& e : s.events) {
    out += " event " + std::to_string(e.time_unix_nano) + " " + std::string(e.name) + " " + describe(e.attributes) +
           std::to_string(e.dropped_attributes_count);
  }
  for (const LinkView& l : s.links) {
    out += " link " + l.trace_id.hex() + l.span_id.hex() + std::string(l.trace_state) + describe(l.attributes) +
           std::to_string(l.flags) + "/" + std::to_string(l.dropped_attributes_count);
  }
  return out;
}

inline std::string describe(const StoredRow& row) {
  std::string out = describe(row.span) + " resource " + describe(row.resource.attributes) +
                    std::string(row.resource.schema_url) + std::to_string(row.resource.dropped_attributes_count) +
                    " scope " + std::string(row.scope.name) + "/" + std::string(row.scope.version) + "/" +
                    std::string(row.scope.schema_url) + describe(row.scope.attributes) +
                    std::to_string(row.scope.dropped_attributes_count);
  if (row.clock)
    out += " clock " + std::to_string(row.clock->offset_nano) + "~" + std::to_string(row.clock->error_nano);
  return out + " #" + std::to_string(row.sequence) + " o" + std::to_string(row.operation) +
         (row.conflicting ? "!" : "");
}

// The row as its batch has it.
inline StoredRow stored_row(const SegmentRow& row, Batch::Scratch& scratch) {
  const Batch& batch = *row.batch;
  return {batch.span(*row.row, scratch),
          batch.resource(row.row->resource),
          batch.scope(row.row->scope),
          batch.clock(),
          row.sequence,
          row.operation,
          row.conflicting};
}

}  // namespace fathom::store::block
