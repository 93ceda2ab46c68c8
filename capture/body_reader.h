// BodyReader: what the parts of a body are read with: a reader that fails for good, and the memory that may be taken.
//
// Thread safety: none. Ownership: none: the body outlives it. Errors: a count that the bytes cannot hold, an index that
// leads nowhere, or a number that does not fit fails the reader; the value is then nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "capture/capture.h"
#include "capture/format.h"

namespace fathom::capture {

class BodyReader {
 public:
  BodyReader(std::string_view body, uint64_t most_memory_bytes)
      : body_(body), in_(body), end_(body.size()), room_(most_memory_bytes) {}

  ByteReader& in() { return in_; }
  bool failed() const { return in_.failed(); }
  void fail() { in_.fail(); }
  size_t position() const { return end_ - in_.remaining(); }
  // Memory beyond what is allowed was asked for.
  bool exhausted() const { return exhausted_; }
  uint64_t room() const { return room_; }

  // First the tables, of which it takes the strings itself; then the blocks, which are before them.
  void take_tables();
  void take_blocks() { read(0, blocks_end_); }
  uint64_t block_bytes() const { return blocks_end_; }
  // Of what takes so many bytes each at least, and will take so much memory. 0 when it cannot be.
  size_t count(size_t least_bytes, size_t memory_bytes);
  bool charge(uint64_t memory_bytes);
  // Of what is needed for a while only: whether there is as much; fails as charge() does.
  bool has_room(uint64_t memory_bytes) {
    const uint64_t room = room_;
    const bool has = charge(memory_bytes);
    room_ = room;
    return has;
  }
  std::string text();
  // Of two instants, which may be anything.
  uint64_t apart(uint64_t from) { return from + static_cast<uint64_t>(in_.svarint()); }
  uint64_t not_before(uint64_t last);
  template <typename Number>
  Number number(uint64_t most) {
    uint64_t value = in_.varint();
    return static_cast<Number>(value > most ? in_.fail() : value);
  }
  template <typename Number>
  Number signed_number() {
    int64_t value = in_.svarint();
    if (value != static_cast<Number>(value)) in_.fail();
    return static_cast<Number>(value);
  }
  SpanRef span();

 private:
  void read(uint64_t from, uint64_t to);
  void take_strings();

  const std::string_view body_;
  ByteReader in_;
  uint64_t end_ = 0;         // of what is read, in the body
  uint64_t blocks_end_ = 0;  // there begin the tables
  uint64_t room_;
  std::vector<std::string_view> strings_{{}};
  bool exhausted_ = false;
};

}  // namespace fathom::capture
