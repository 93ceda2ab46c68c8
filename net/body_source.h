// BodySource: the rest of an answer's body that is too large to be held at once; the server asks for it piece by piece.
//
// Purpose: the next piece is made when the socket has taken the one before, so that an answer holds one piece, whatever
// its size is and however slowly it is read. Thread safety: next() is called by one connection, one call at a time;
// `deliver` may be called from any thread. Ownership: the connection owns the source, and lets go of it when the body
// is complete or the peer has gone. Errors: a body that was begun cannot become an error answer, so a piece that cannot
// be made ends the connection, which the peer notices because the end of the body is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace fathom::net {

struct BodyPiece {
  std::string bytes;
  bool is_last = false;
};

class BodySource {
 public:
  virtual ~BodySource() = default;
  // Calls `deliver` once, now or later; nothing: there is no such piece, and the connection is closed.
  virtual void next(std::function<void(std::optional<BodyPiece>)> deliver) = 0;
  // What it holds beside the piece: it counts as memory of the answer.
  virtual uint64_t held_bytes() const = 0;
};

// A piece as one chunk (RFC 9112, 7.1), with the end of the body behind the last one.
std::string chunk_of(const BodyPiece& piece);

}  // namespace fathom::net
