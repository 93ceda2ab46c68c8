// Bytes of strangers on their way to a store of snapshots: targets of puts, lists of images, descriptions.
//
// The first byte says which. Each is a named error, or something within its limits.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "net/uri.h"
#include "query/snapshots/summary.h"
#include "query/snapshots/upload_routes.h"

namespace {

using namespace fathom;

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_hex(const std::string& name) {
  return name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void put_target(std::string_view text) {
  auto target = net::parse_target(text);
  if (!target.ok()) return;
  net::HttpRequest request;
  request.path = target->path;
  request.query = target->query;
  auto piece = query::upload_piece(request);
  if (!piece.ok()) return require(!piece.error().message.empty());
  require(is_hex(piece->name.hex) && piece->name.hex.size() == (piece->name.is_image ? 64u : 32u));
  require(piece->offset < piece->total);
}

void asked_images(std::string_view body) {
  auto contents = query::parse_asked_images(body);
  contents.ok() ? require(contents->size() <= query::kMostAskedImages) : require(!contents.error().message.empty());
}

void description(std::string_view bytes) {
  auto decoded = snapshot::decode_metadata(bytes, UINT64_MAX / 2);
  if (!decoded.ok()) return;
  auto summary = query::summarize({}, *decoded);
  if (!summary.ok()) return require(!summary.error().message.empty());
  require(summary->contents.size() <= summary->images && summary->memory_bytes() < (8u << 20));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      put_target(rest);
      break;
    case 1:
      asked_images(rest);
      break;
    default:
      description(rest);
  }
  return 0;
}
