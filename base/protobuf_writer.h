// ProtobufWriter: the fields of a message in protobuf's wire format, without objects.
//
// Purpose: spans, batches and exports are written field by field, to memory that is known to be large enough
// (WireWriter: it does not ask each time whether there is room) or to the end of a string (WireAppender). Lengths of
// messages that are not known beforehand get a fixed place in memory and are filled in later, as a varint with leading
// zeros, which every reader of protobuf takes. Thread safety: plain values. Ownership: none; the caller has made room,
// or owns the string. The source of the idea: https://protobuf.dev/programming-guides/encoding/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace fathom {

// Bytes of a varint.
inline constexpr size_t varint_bytes(uint64_t value) {
  return static_cast<size_t>(64 - __builtin_clzll(value | 1) + 6) / 7;
}

// Target: varint(value), raw(bytes) and fixed(value).
template <typename Target>
class ProtobufWriter : public Target {
 public:
  using Target::Target;

  ProtobufWriter& varint_field(uint32_t number, uint64_t value) {
    tag(number, 0);
    this->varint(value);
    return *this;
  }
  ProtobufWriter& fixed64_field(uint32_t number, uint64_t value) {
    tag(number, 1);
    this->fixed(value);
    return *this;
  }
  ProtobufWriter& fixed32_field(uint32_t number, uint32_t value) {
    tag(number, 5);
    this->fixed(value);
    return *this;
  }
  // Tag and length of a field whose bytes follow.
  ProtobufWriter& length(uint32_t number, size_t bytes) {
    tag(number, 2);
    this->varint(bytes);
    return *this;
  }
  // A string, or a message that was made before.
  ProtobufWriter& bytes_field(uint32_t number, std::string_view bytes) {
    length(number, bytes.size());
    this->raw(bytes);
    return *this;
  }
  // An id: its size is known when this is compiled.
  template <size_t kSize>
  ProtobufWriter& id_field(uint32_t number, const uint8_t (&id)[kSize]) {
    length(number, kSize);
    this->fixed(id);
    return *this;
  }
  ProtobufWriter& packed_field(uint32_t number, std::span<const uint64_t> values) {
    size_t bytes = 0;
    for (uint64_t value : values) bytes += varint_bytes(value);
    length(number, bytes);
    for (uint64_t value : values) this->varint(value);
    return *this;
  }

 protected:
  void tag(uint32_t number, uint32_t type) { this->varint(uint64_t{number} << 3 | type); }
};

class WireMemory {
 public:
  explicit WireMemory(char* at) : at_(at) {}

  char* at() const { return at_; }
  void varint(uint64_t value) { at_ = put_varint(at_, value); }
  void raw(std::string_view bytes) {
    copy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  template <typename T>
  void fixed(const T& value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }

 protected:
  char* at_;

 private:
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
};

class WireWriter : public ProtobufWriter<WireMemory> {
 public:
  using ProtobufWriter::ProtobufWriter;

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
};

class WireString {
 public:
  explicit WireString(std::string& out) : out_(out) {}

  void varint(uint64_t value) { ByteWriter(out_).varint(value); }
  void raw(std::string_view bytes) { out_.append(bytes); }
  template <typename T>
  void fixed(const T& value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

 private:
  std::string& out_;
};
using WireAppender = ProtobufWriter<WireString>;

}  // namespace fathom
