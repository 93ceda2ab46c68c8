#include "net/body_source.h"

#include <charconv>

namespace fathom::net {

std::string chunk_of(const BodyPiece& piece) {
  std::string chunk;
  chunk.reserve(piece.bytes.size() + 32);
  // An empty chunk would be the end of the body.
  if (!piece.bytes.empty()) {
    char size[16];
    const auto end = std::to_chars(size, size + sizeof size, piece.bytes.size(), 16);
    chunk.append(size, end.ptr).append("\r\n").append(piece.bytes).append("\r\n");
  }
  if (piece.is_last) chunk.append("0\r\n\r\n");
  return chunk;
}

}  // namespace fathom::net
