#include "store/rocks/trace_tally.h"

#include <algorithm>
#include <cassert>

namespace fathom::store {

namespace {

constexpr uint8_t kTallyRoot = 1, kTallyError = 2;

void write_tally_row(const TraceRow& row, std::string& out) {
  ByteWriter writer(out);
  writer.raw(row.span_id.view());
  writer.varint(row.start_unix_nano);
  writer.varint(row.duration_nano);
  writer.varint(row.sequence);
  writer.varint(row.operation);
}

TraceRow read_tally_row(ByteReader& in) {
  TraceRow row;
  row.span_id = SpanId::from_bytes(in.raw(8)).value_or(SpanId{});
  row.start_unix_nano = in.varint();
  row.duration_nano = in.varint();
  row.sequence = in.varint();
  row.operation = in.varint32();
  return row;
}

}  // namespace

void TraceTally::add(const TraceRow& row) {
  if (empty() || earlier(row, first)) first = row;
  if (row.parent_span_id.is_zero() && (!has_root || earlier(row, root))) {
    root = row;
    has_root = true;
  }
  error |= row.error;
  end_unix_nano = std::max(end_unix_nano, row.end_unix_nano());
  first_sequence = std::min(first_sequence, row.sequence);
  ++spans;
}

void TraceTally::add(const TraceTally& other) {
  if (other.empty()) return;
  if (empty() || earlier(other.first, first)) first = other.first;
  if (other.has_root && (!has_root || earlier(other.root, root))) {
    root = other.root;
    has_root = true;
  }
  error |= other.error;
  end_unix_nano = std::max(end_unix_nano, other.end_unix_nano);
  first_sequence = std::min(first_sequence, other.first_sequence);
  spans += other.spans;
}

TraceSummary TraceTally::summary() const {
  assert(!empty());
  const TraceRow& shown = has_root ? root : first;
  TraceSummary summary;
  summary.start_unix_nano = first.start_unix_nano;
  summary.duration_nano = end_unix_nano - first.start_unix_nano;
  summary.root_duration_nano = has_root ? root.duration_nano : 0;
  summary.root_span_id = shown.span_id;
  summary.root_operation = shown.operation;
  summary.spans = spans;
  summary.first_sequence = first_sequence;
  summary.has_root = has_root;
  summary.error = error;
  return summary;
}

TraceTally tally_of(const TraceSummary& summary) {
  TraceTally tally;
  tally.first = {.span_id = summary.root_span_id,
                 .start_unix_nano = summary.start_unix_nano,
                 .sequence = summary.first_sequence,
                 .operation = summary.root_operation};
  tally.has_root = summary.has_root;
  if (summary.has_root) tally.root = tally.first;
  tally.root.duration_nano = summary.root_duration_nano;
  tally.error = summary.error;
  tally.end_unix_nano = end_of(summary.start_unix_nano, summary.duration_nano);
  tally.first_sequence = summary.first_sequence;
  tally.spans = summary.spans;
  return tally;
}

void write_tally(const TraceTally& tally, std::string& out) {
  ByteWriter writer(out);
  writer.u8(static_cast<uint8_t>((tally.has_root ? kTallyRoot : 0) | (tally.error ? kTallyError : 0)));
  writer.varint(tally.end_unix_nano);
  writer.varint(tally.first_sequence);
  writer.varint(tally.spans);
  write_tally_row(tally.first, out);
  if (tally.has_root) write_tally_row(tally.root, out);
}

TraceTally read_tally(ByteReader& in) {
  TraceTally tally;
  uint8_t flags = in.u8();
  tally.has_root = flags & kTallyRoot;
  tally.error = flags & kTallyError;
  tally.end_unix_nano = in.varint();
  tally.first_sequence = in.varint();
  tally.spans = in.varint();
  tally.first = read_tally_row(in);
  if (tally.has_root) tally.root = read_tally_row(in);
  return tally;
}

}  // namespace fathom::store
