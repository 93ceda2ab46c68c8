#include "store/block/summary.h"

namespace fathom::store {

namespace {

constexpr uint8_t kHasRoot = 1, kComplete = 2, kError = 4, kGrown = 8, kOversized = 16;

}  // namespace

uint8_t summary_flags(const TraceSummary& summary) {
  return static_cast<uint8_t>((summary.has_root ? kHasRoot : 0) | (summary.complete ? kComplete : 0) |
                              (summary.error ? kError : 0) | (summary.grown ? kGrown : 0) |
                              (summary.oversized ? kOversized : 0));
}

void set_summary_flags(TraceSummary& summary, uint8_t flags) {
  summary.has_root = flags & kHasRoot;
  summary.complete = flags & kComplete;
  summary.error = flags & kError;
  summary.grown = flags & kGrown;
  summary.oversized = flags & kOversized;
}

void encode_summary(const TraceSummary& summary, std::string& out) {
  ByteWriter writer(out);
  writer.u8(summary_flags(summary));
  writer.varint(summary.start_unix_nano);
  writer.varint(summary.root_duration_nano);
  writer.svarint(static_cast<int64_t>(summary.duration_nano - summary.root_duration_nano));
  writer.raw(summary.root_span_id.view());
  writer.varint(summary.root_operation);
  writer.varint(summary.spans);
  writer.varint(summary.first_sequence);
}

Result<TraceSummary> decode_summary(ByteReader& in) {
  TraceSummary summary;
  set_summary_flags(summary, in.u8());
  summary.start_unix_nano = in.varint();
  summary.root_duration_nano = in.varint();
  summary.duration_nano = summary.root_duration_nano + static_cast<uint64_t>(in.svarint());
  summary.root_span_id = SpanId::from_bytes(in.raw(8)).value_or(SpanId{});
  summary.root_operation = in.varint32();
  summary.spans = in.varint();
  summary.first_sequence = in.varint();
  if (in.failed()) return corrupt("a trace summary is damaged");
  return summary;
}

}  // namespace fathom::store
