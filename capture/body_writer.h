// BodyWriter: bytes at the end of one growing piece of memory, without a look at its size for each.
//
// Purpose: what is written is millions of small numbers. A caller asks for room for the most that it may write, writes,
// and says where it ended. Thread safety: none. Ownership: of the memory.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"

namespace fathom::capture {

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
  void varint(uint64_t value) { advance(put_varint(room(kMostVarintBytes), value)); }
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
