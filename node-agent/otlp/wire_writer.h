// WireWriter: protobuf fields written to memory that is known to be large enough.
//
// Purpose: a span is some twenty fields of a few bytes each; they are written one behind the other, without asking each
// time whether there is room. Lengths of messages that are not known beforehand get a fixed place and are filled in
// later, as a varint with leading zeros, which every reader of protobuf takes. Thread safety: plain values. Ownership:
// none; the caller made room. The source of the idea: https://protobuf.dev/programming-guides/encoding/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace fathom::agent {

// Bytes of a varint.
inline constexpr size_t varint_bytes(uint64_t value) {
  return static_cast<size_t>(64 - __builtin_clzll(value | 1) + 6) / 7;
}

class WireWriter {
 public:
  explicit WireWriter(char* at) : at_(at) {}

  char* at() const { return at_; }

  void varint(uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<char>(value);
  }
  void varint_field(uint32_t number, uint64_t value) {
    tag(number, 0);
    varint(value);
  }
  void fixed64_field(uint32_t number, uint64_t value) {
    tag(number, 1);
    put(value);
  }
  void fixed32_field(uint32_t number, uint32_t value) {
    tag(number, 5);
    put(value);
  }
  void length(uint32_t number, size_t bytes) {
    tag(number, 2);
    varint(bytes);
  }
  void bytes_field(uint32_t number, std::string_view bytes) {
    length(number, bytes.size());
    raw(bytes);
  }
  // An id: its size is known when this is compiled.
  template <size_t kSize>
  void id_field(uint32_t number, const uint8_t (&id)[kSize]) {
    length(number, kSize);
    std::memcpy(at_, id, kSize);
    at_ += kSize;
  }
  void raw(std::string_view bytes) {
    copy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }

  // A message whose length is filled in by end(): kLengthBytes hold up to 16,383, kLongLengthBytes up to 268,435,455.
  static constexpr size_t kLengthBytes = 2;
  static constexpr size_t kLongLengthBytes = 4;
  template <size_t kBytes = kLengthBytes>
  char* begin(uint32_t number) {
    tag(number, 2);
    at_ += kBytes;
    return at_;
  }
  void end(char* began) { fill_in<kLengthBytes>(began, static_cast<size_t>(at_ - began)); }
  template <size_t kBytes>
  static void fill_in(char* began, size_t length) {
    for (size_t i = 0; i < kBytes; ++i) {
      bool last = i + 1 == kBytes;
      began[static_cast<ptrdiff_t>(i) - static_cast<ptrdiff_t>(kBytes)] =
          static_cast<char>((length & 0x7f) | (last ? 0 : 0x80));
      length >>= 7;
    }
  }

 private:
  void tag(uint32_t number, uint32_t type) { varint(number << 3 | type); }
  template <typename T>
  void put(T value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  // Names and values are short: two moves that overlap are cheaper than a call.
  static void copy(char* to, const char* from, size_t bytes) {
    if (bytes >= 16 && bytes <= 32) return overlapping<16>(to, from, bytes);
    if (bytes >= 8 && bytes < 16) return overlapping<8>(to, from, bytes);
    if (bytes >= 4 && bytes < 8) return overlapping<4>(to, from, bytes);
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  template <size_t kSize>
  static void overlapping(char* to, const char* from, size_t bytes) {
    char head[kSize];
    char tail[kSize];
    std::memcpy(head, from, kSize);
    std::memcpy(tail, from + bytes - kSize, kSize);
    std::memcpy(to, head, kSize);
    std::memcpy(to + bytes - kSize, tail, kSize);
  }

  char* at_;
};

}  // namespace fathom::agent
