#include "query/capture_cursor.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "query/sealed_cursor.h"

namespace fathom::query {

namespace {

constexpr uint8_t kCaptureCursorVersion = 1;
constexpr size_t kCaptureCursorBytes = 1 + 3 * 8 + 16;

}  // namespace

uint64_t query_hash(const CapturesQuery& query) {
  const store::CaptureFilter& filter = query.filter;
  std::string bytes;
  ByteWriter out(bytes);
  out.string(query.range_text);
  out.string(filter.trace_id ? filter.trace_id->view() : "");
  out.string(filter.process ? filter.process->node_id.view() : "");
  out.varint(filter.process ? filter.process->pid : 0);
  out.u8(filter.service.has_value());
  out.string(filter.service.value_or(""));
  out.u8(filter.trigger ? static_cast<uint8_t>(*filter.trigger) : 0);
  return hash64(bytes);
}

std::string encode_capture_cursor(const CapturePosition& position, uint64_t query_hash) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kCaptureCursorVersion);
  out.u64(position.range.from_unix_nano);
  out.u64(position.range.to_unix_nano);
  out.u64(position.cursor.start_unix_nano);
  out.raw(position.cursor.id.view());
  return seal_cursor(std::move(bytes), query_hash);
}

Result<CapturePosition> decode_capture_cursor(std::string_view text, uint64_t query_hash) {
  Result<std::string> payload = open_cursor(text, kCaptureCursorBytes, kCaptureCursorVersion, query_hash);
  if (!payload) return payload.error();
  ByteReader in(std::string_view(*payload).substr(1));
  CapturePosition position;
  position.range.from_unix_nano = in.u64();
  position.range.to_unix_nano = in.u64();
  position.cursor.start_unix_nano = in.u64();
  position.cursor.id = store::CaptureId::from_bytes(in.raw(16)).value_or(store::CaptureId{});
  return position;
}

}  // namespace fathom::query
