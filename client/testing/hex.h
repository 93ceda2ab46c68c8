// Bytes as lower-case hexadecimal digits, for tests that share no code with the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::client::testing {

inline std::string hex(const uint8_t* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; i++) {
    text += "0123456789abcdef"[bytes[i] >> 4];
    text += "0123456789abcdef"[bytes[i] & 15];
  }
  return text;
}
inline std::string hex(std::string_view bytes) {
  return hex(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace fathom::client::testing
