// ChunkReader: a ByteReader for chunks whose decoders charge what they are about to take to the query that asked.
//
// Purpose: sizes in a chunk are hostile input, and a compressed stream may unpack to a thousand times its bytes. A
// decoder therefore calls take() before it allocates. Ownership: the bytes and the memory belong to the caller. Thread
// safety: one thread. Errors: take() fails the reader when the budget has no room; decode_error() tells the two apart.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "store/query_budget.h"

namespace fathom::store::block {

// What a decoder is given: a chunk's body, and whom to charge for what it decodes to (null: nobody).
struct ChunkBody {
  ChunkBody(std::string_view body, HeldMemory* pays = nullptr) : bytes(body), memory(pays) {}
  ChunkBody(const std::string& body) : bytes(body) {}

  std::string_view bytes;
  HeldMemory* memory = nullptr;
};

class ChunkReader : public ByteReader {
 public:
  explicit ChunkReader(const ChunkBody& body) : ByteReader(body.bytes), memory_(body.memory) {}

  // Charges `bytes` of memory; false, and the reader has failed, when the budget has no room for them.
  bool take(uint64_t bytes) { return memory_ == nullptr || memory_->grow(bytes) ? true : fail() != 0; }
  // The same for `count` elements of a vector.
  template <typename T>
  bool take_array(uint64_t count) {
    return take(count * sizeof(T));
  }

 private:
  HeldMemory* memory_;
};

Error damaged(std::string_view what);

// Why a decoder that charged `memory` returned false.
inline Error decode_error(const HeldMemory& memory, std::string_view what) {
  return memory.fault() ? *memory.fault() : damaged(what);
}

}  // namespace fathom::store::block
