#include "query/cursor.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "query/sealed_cursor.h"

namespace fathom::query {

namespace {

constexpr uint8_t kCursorVersion = 1;
constexpr size_t kCursorBytes = 1 + 5 * 8 + 16 + 8;

void write_optional(ByteWriter& out, const std::optional<std::string>& text) {
  out.u8(text.has_value());
  out.string(text.value_or(""));
}

PagePosition read_position(ByteReader& in) {
  PagePosition position;
  position.range.from_unix_nano = in.u64();
  position.range.to_unix_nano = in.u64();
  position.cursor.received_sequence = in.u64();
  position.cursor.last.duration_nano = in.u64();
  position.cursor.last.start_unix_nano = in.u64();
  position.cursor.last.trace_id = TraceId::from_bytes(in.raw(16)).value_or(TraceId{});
  position.cursor.last.span_id = SpanId::from_bytes(in.raw(8)).value_or(SpanId{});
  return position;
}

}  // namespace

uint64_t query_hash(const SlowestQuery& query) {
  std::string bytes;
  ByteWriter out(bytes);
  out.string(query.range_text);
  write_optional(out, query.filter.service);
  write_optional(out, query.filter.operation);
  out.varint(query.filter.where.size());
  for (const auto& condition : query.filter.where) {
    out.string(condition.key);
    out.string(condition.value);
    out.u8(static_cast<uint8_t>(condition.compare));
  }
  out.u8(query.filter.errors);
  out.u64(query.filter.min_duration_nano);
  out.u64(query.filter.max_duration_nano);
  out.u8(static_cast<uint8_t>(query.by));
  out.u8(static_cast<uint8_t>(query.kept));
  return hash64(bytes);
}

std::string encode_cursor(const PagePosition& position, uint64_t query_hash) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kCursorVersion);
  out.u64(position.range.from_unix_nano);
  out.u64(position.range.to_unix_nano);
  out.u64(position.cursor.received_sequence);
  out.u64(position.cursor.last.duration_nano);
  out.u64(position.cursor.last.start_unix_nano);
  out.raw(position.cursor.last.trace_id.view());
  out.raw(position.cursor.last.span_id.view());
  return seal_cursor(std::move(bytes), query_hash);
}

Result<PagePosition> decode_cursor(std::string_view text, uint64_t query_hash) {
  Result<std::string> payload = open_cursor(text, kCursorBytes, kCursorVersion, query_hash);
  if (!payload) return payload.error();
  ByteReader in(std::string_view(*payload).substr(1));
  return read_position(in);
}

}  // namespace fathom::query
