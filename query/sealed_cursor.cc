#include "query/sealed_cursor.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "query/base64url.h"

namespace fathom::query {

namespace {

Error foreign() {
  return invalid(
      "this cursor does not belong to this query; repeat the first page's parameters, or leave 'cursor' out");
}

}  // namespace

std::string seal_cursor(std::string payload, uint64_t query_hash) {
  uint64_t checksum = hash64(payload, query_hash);
  ByteWriter(payload).u64(checksum);
  return base64url_encode(payload);
}

Result<std::string> open_cursor(std::string_view text, size_t payload_bytes, uint8_t version, uint64_t query_hash) {
  auto bytes = base64url_decode(text);
  if (!bytes || bytes->size() != payload_bytes + 8 || static_cast<uint8_t>((*bytes)[0]) != version) return foreign();
  uint64_t checksum = ByteReader(std::string_view(*bytes).substr(payload_bytes)).u64();
  bytes->resize(payload_bytes);
  if (checksum != hash64(*bytes, query_hash)) return foreign();
  return *std::move(bytes);
}

}  // namespace fathom::query
