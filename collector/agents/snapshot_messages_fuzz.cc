// Whatever an agent sends as a piece of a snapshot, or as names of images, is refused or within its bounds.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collector/agents/snapshot_messages.h"
#include "ingest/limits.h"

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  if (auto piece = fathom::collector::parse_snapshot_piece(message)) {
    must(piece->snapshot.is_zero() != piece->image.is_zero());
    must(piece->offset <= piece->total_bytes && piece->content.size() <= piece->total_bytes - piece->offset);
    must(piece->content.size() <= fathom::ingest::kMostSnapshotPieceBytes);
  }
  if (auto names = fathom::collector::parse_image_names(message)) {
    must(names->size() <= fathom::ingest::kMostAskedImages);
  }
  return 0;
}
