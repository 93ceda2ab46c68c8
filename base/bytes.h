// Writing and reading of the byte formats: little-endian integers, LEB128 varints, zigzag, length-prefixed strings.
//
// ByteReader treats its input as hostile: a read past the end or a malformed varint makes the reader fail for good
// (`failed()`), and every later read returns zero or empty. Callers check once, after a group of reads. It owns
// nothing: views point into the input. Thread safety: none needed, plain values.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace fathom {

static_assert(std::endian::native == std::endian::little, "the formats are little-endian and written by memcpy");

inline uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Big-endian, so that keys sort as their numbers do.
inline void append_be32(std::string& out, uint32_t value) {
  value = __builtin_bswap32(value);
  out.append(reinterpret_cast<const char*>(&value), 4);
}
inline void append_be64(std::string& out, uint64_t value) {
  value = __builtin_bswap64(value);
  out.append(reinterpret_cast<const char*>(&value), 8);
}
inline uint32_t load_be32(const char* data) {
  uint32_t value;
  std::memcpy(&value, data, 4);
  return __builtin_bswap32(value);
}
inline uint64_t load_be64(const char* data) {
  uint64_t value;
  std::memcpy(&value, data, 8);
  return __builtin_bswap64(value);
}

inline constexpr size_t kMostVarintBytes = 10;
// Writes where there is room for as many, and returns the end.
inline char* put_varint(char* to, uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

// Appends to a string that the caller owns.
class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void u8(uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u32(uint32_t value) { fixed(value); }
  void u64(uint64_t value) { fixed(value); }
  void f64(double value) { fixed(value); }
  void varint(uint64_t value) {
    if (value < 0x80) return u8(static_cast<uint8_t>(value));
    char buffer[kMostVarintBytes];
    out_.append(buffer, static_cast<size_t>(put_varint(buffer, value) - buffer));
  }
  void svarint(int64_t value) { varint(zigzag(value)); }
  void raw(std::string_view bytes) { out_.append(bytes); }
  void string(std::string_view bytes) {
    varint(bytes.size());
    raw(bytes);
  }
  size_t size() const { return out_.size(); }

 private:
  template <typename T>
  void fixed(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view input) : at_(input.data()), end_(input.data() + input.size()) {}

  bool failed() const { return failed_; }
  bool at_end() const { return at_ == end_; }
  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  const char* position() const { return at_; }

  // A number in its own width.
  template <typename T>
  T fixed() {
    T value{};
    if (sizeof value > remaining()) {
      fail();
      return value;
    }
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  uint8_t u8() { return fixed<uint8_t>(); }
  uint32_t u32() { return fixed<uint32_t>(); }
  uint64_t u64() { return fixed<uint64_t>(); }
  double f64() { return fixed<double>(); }
  uint64_t varint() {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) return static_cast<uint8_t>(*at_++);
    return long_varint();
  }
  // A varint that must fit 32 bits.
  uint32_t varint32() {
    uint64_t value = varint();
    if (value > UINT32_MAX) return static_cast<uint32_t>(fail());
    return static_cast<uint32_t>(value);
  }
  int64_t svarint() { return unzigzag(varint()); }
  std::string_view raw(size_t size) {
    if (size > remaining()) {
      fail();
      return {};
    }
    std::string_view view(at_, size);
    at_ += size;
    return view;
  }
  std::string_view string() { return raw(varint()); }
  uint64_t fail() {
    failed_ = true;
    at_ = end_;
    return 0;
  }

 private:
  uint64_t long_varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return fail();
      uint8_t byte = static_cast<uint8_t>(*at_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return shift == 63 && byte > 1 ? fail() : value;
    }
    return fail();
  }

  const char* at_;
  const char* end_;
  bool failed_ = false;
};

}  // namespace fathom
