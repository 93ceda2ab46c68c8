// BodyWriter: bytes at the end of one growing piece of memory, without a look at its size for each.
//
// Purpose: what is written is millions of small numbers. A caller asks for room for the most that it may write, writes,
// and says where it ended. Thread safety: none. Ownership: of the memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"

namespace fathom::capture {

// The low 56 bits: seven of them in the low bits of each byte.
inline uint64_t spread_sevens(uint64_t value) {
  value = (value & 0x0000'0000'0fff'ffff) | (value & 0x00ff'ffff'f000'0000) << 4;
  value = (value & 0x0000'3fff'0000'3fff) | (value & 0x0fff'c000'0fff'c000) << 2;
  return (value & 0x007f'007f'007f'007f) | (value & 0x3f80'3f80'3f80'3f80) << 1;
}

// Writes the bytes of put_varint(), and may write anything to the rest of the kMostVarintBytes behind `to`. It has no
// branch per byte, because the processor often predicts such branches wrongly if the sizes of large numbers vary.
inline char* put_varint_in_room(char* to, uint64_t value) {
  if (value < 0x80) {
    *to = static_cast<char>(value);
    return to + 1;
  }
  if (value < 0x4000) {
    const auto pair = static_cast<uint16_t>((value & 0x7f) | 0x80 | value >> 7 << 8);
    std::memcpy(to, &pair, sizeof pair);
    return to + 2;
  }
  constexpr uint64_t kMore = 0x8080'8080'8080'8080;
  const auto bytes = (static_cast<unsigned>(std::bit_width(value)) * 9 + 64) / 64;  // a seventh, rounded up
  const bool fits_eight = bytes <= 8;
  const uint64_t low = spread_sevens(value) | (fits_eight ? kMore >> (72 - 8 * bytes) : kMore);
  std::memcpy(to, &low, sizeof low);
  if (fits_eight) return to + bytes;
  to[8] = static_cast<char>(value >> 56);  // bit 63 is where the ninth byte says whether there is a tenth
  to[9] = 1;
  return to + bytes;
}

class BodyWriter {
 public:
  // Where to write `bytes` at most; what was not used before is taken back.
  char* room(size_t bytes) {
    if (capacity_ - size_ < bytes) grow(size_ + bytes);
    return memory_.get() + size_;
  }
  void advance(const char* end) {
    size_ = static_cast<size_t>(end - memory_.get());
    assert(size_ <= capacity_);
  }

  void u8(uint8_t value) { raw({reinterpret_cast<const char*>(&value), 1}); }
  void u64(uint64_t value) { raw({reinterpret_cast<const char*>(&value), sizeof value}); }
  void varint(uint64_t value) { advance(put_varint_in_room(room(kMostVarintBytes), value)); }
  void svarint(int64_t value) { varint(zigzag(value)); }
  // Of two instants, which may be anything.
  void difference(uint64_t later, uint64_t earlier) { svarint(static_cast<int64_t>(later - earlier)); }
  void raw(std::string_view bytes) {
    char* to = room(bytes.size());
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    advance(to + bytes.size());
  }
  void string(std::string_view bytes) {
    varint(bytes.size());
    raw(bytes);
  }

  size_t size() const { return size_; }
  void clear() { size_ = 0; }  // and keeps the memory
  std::string_view view() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };

  // realloc() moves large pieces by their pages.
  void grow(size_t least) {
    capacity_ = std::max({least, 2 * capacity_, size_t{4096}});
    auto* grown = static_cast<char*>(std::realloc(memory_.get(), capacity_));
    if (grown == nullptr) throw std::bad_alloc();
    (void)memory_.release();
    memory_.reset(grown);
  }

  std::unique_ptr<char, Free> memory_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace fathom::capture
