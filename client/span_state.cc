#include "client/span_state.h"

namespace fathom::client {

bool grow(SpanState& span, uint32_t more) {
  if (span.bytes + more > kSlabBytes || span.slab != 0) return false;
  const uint32_t slab = live().slabs.borrow();
  if (slab == 0) return false;
  std::memcpy(slab_bytes(slab), &span.record, span.bytes);
  span.slab = static_cast<uint8_t>(slab);
  return true;
}

size_t cut_size(fathom_text text, size_t room) {
  if (text.size <= room) return text.size;
  size_t size = room;
  // Back to the begin of the sequence that would be cut; what has no begin within four bytes is no UTF-8 anyway.
  for (int i = 0; i < 3 && size > 0 && (text.data[size] & 0xc0) == 0x80; i++) size--;
  return (text.data[size] & 0xc0) == 0x80 ? room : size;
}

}  // namespace fathom::client
