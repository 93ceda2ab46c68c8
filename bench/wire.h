// A tiny writer of protobuf's wire format into memory that is known to be large enough.
//
// Purpose: the load generator shares the machine with the server under test, so it writes OTLP's bytes by hand: no
// message objects, no second pass for lengths. Contract: the caller guarantees room (span_encoder.h says how much a
// span may take); field tags passed here are single bytes. Thread safety: one writer per buffer. Ownership: none.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace fathom::bench {

constexpr uint8_t wire_tag(int field, int wire_type) {
  return static_cast<uint8_t>(field << 3 | wire_type);
}
inline constexpr int kWireVarint = 0;
inline constexpr int kWireFixed64 = 1;
inline constexpr int kWireBytes = 2;
inline constexpr int kWireFixed32 = 5;

inline size_t varint_size(uint64_t value) {
  size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

class WireWriter {
 public:
  explicit WireWriter(char* at) : at_(at) {}
  char* position() const { return at_; }

  void byte(uint8_t value) { *at_++ = static_cast<char>(value); }
  void raw(std::string_view bytes) {
    std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void varint(uint64_t value) {
    while (value >= 0x80) {
      byte(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    byte(static_cast<uint8_t>(value));
  }
  void bytes_field(int field, std::string_view bytes) {
    byte(wire_tag(field, kWireBytes));
    varint(bytes.size());
    raw(bytes);
  }
  void varint_field(int field, uint64_t value) {
    byte(wire_tag(field, kWireVarint));
    varint(value);
  }
  void fixed64_field(int field, uint64_t value) { fixed_field(wire_tag(field, kWireFixed64), value); }
  void fixed32_field(int field, uint32_t value) { fixed_field(wire_tag(field, kWireFixed32), value); }

  // A KeyValue with a string or an int64 value, as field `field` of what is being written.
  void string_attribute(int field, std::string_view key, std::string_view value) {
    size_t any_value = 1 + varint_size(value.size()) + value.size();
    attribute_head(field, key, any_value);
    bytes_field(1, value);
  }
  void int_attribute(int field, std::string_view key, uint64_t value) {
    attribute_head(field, key, 1 + varint_size(value));
    varint_field(3, value);
  }

 private:
  template <typename T>
  void fixed_field(uint8_t tag, T value) {
    byte(tag);
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void attribute_head(int field, std::string_view key, size_t any_value) {
    byte(wire_tag(field, kWireBytes));
    varint(1 + varint_size(key.size()) + key.size() + 1 + varint_size(any_value) + any_value);
    bytes_field(1, key);
    byte(wire_tag(2, kWireBytes));
    varint(any_value);
  }

  char* at_;
};

// What `write(WireWriter&)` writes, as a string of its own; `room` bounds it.
template <typename Write>
std::string wire_string(size_t room, Write write) {
  std::string out(room, '\0');
  WireWriter writer(out.data());
  write(writer);
  out.resize(static_cast<size_t>(writer.position() - out.data()));
  return out;
}

}  // namespace fathom::bench
