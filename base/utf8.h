// Whether text is UTF-8, and what becomes of it when it is not.
//
// Purpose: OTLP's strings are UTF-8, yet programs send others' bytes in them. Such text is kept, with U+FFFD in the
// place of every byte that belongs to no character. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace fathom {

// Nearly all text is ASCII from end to end, which eight bytes at a time can tell.
inline bool is_ascii(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080ULL;
  uint64_t all = 0, word = 0;
  if (text.size() < 8) {
    for (char c : text) all |= static_cast<uint8_t>(c);
    return (all & kHighBits) == 0;
  }
  for (size_t at = 0; at + 8 < text.size(); at += 8) {
    std::memcpy(&word, text.data() + at, 8);
    all |= word;
  }
  std::memcpy(&word, text.data() + text.size() - 8, 8);
  return ((all | word) & kHighBits) == 0;
}

// The length of the character that `text`, which is not empty, begins with; 0 when it begins with none (Unicode 15,
// table 3-7).
size_t utf8_length(std::string_view text);
bool is_utf8_beyond_ascii(std::string_view text);
inline bool is_utf8(std::string_view text) {
  return is_ascii(text) || is_utf8_beyond_ascii(text);
}
// The first `size` bytes of repaired text, or a little more: text that a limit cuts anyway need not be repaired whole.
std::string repair_utf8(std::string_view text, size_t size);
inline std::string repair_utf8(std::string_view text) {
  return repair_utf8(text, 3 * text.size());  // a byte becomes three at most
}
// At most `size` bytes of the front, without the part of a character that such a cut would leave.
std::string_view whole_characters(std::string_view text, size_t size);
void append_utf8(std::string& out, uint32_t code_point);

}  // namespace fathom
