#include "base/utf8.h"

namespace fathom {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool is_tail(char c) {
  return (static_cast<uint8_t>(c) & 0xc0) == 0x80;
}

// What the second byte may be, which is where over-long forms, surrogates and planes beyond 16 show.
bool second_fits(uint8_t first, uint8_t second) {
  if (first == 0xe0) return second >= 0xa0 && second <= 0xbf;
  if (first == 0xed) return second >= 0x80 && second <= 0x9f;
  if (first == 0xf0) return second >= 0x90 && second <= 0xbf;
  if (first == 0xf4) return second >= 0x80 && second <= 0x8f;
  return second >= 0x80 && second <= 0xbf;
}

size_t length_by_first(uint8_t first) {
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

}  // namespace

size_t utf8_length(std::string_view text) {
  size_t length = length_by_first(static_cast<uint8_t>(text[0]));
  if (length <= 1) return length;
  if (length > text.size() || !second_fits(static_cast<uint8_t>(text[0]), static_cast<uint8_t>(text[1]))) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (!is_tail(text[i])) return 0;
  }
  return length;
}

bool is_utf8_beyond_ascii(std::string_view text) {
  while (!text.empty()) {
    size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string repair_utf8(std::string_view text, size_t size) {
  std::string repaired;
  while (!text.empty() && repaired.size() < size) {
    size_t length = utf8_length(text);
    repaired += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return repaired;
}

std::string_view whole_characters(std::string_view text, size_t size) {
  if (text.size() <= size) return text;
  size_t end = size;
  while (end > 0 && end + 3 > size && is_tail(text[end])) --end;
  return text.substr(0, end);
}

void append_utf8(std::string& out, uint32_t code_point) {
  auto byte = [&](uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code_point < 0x80) return byte(code_point);
  if (code_point < 0x800) {
    byte(0xc0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    byte(0xe0 | code_point >> 12);
    byte(0x80 | (code_point >> 6 & 0x3f));
  } else {
    byte(0xf0 | code_point >> 18);
    byte(0x80 | (code_point >> 12 & 0x3f));
    byte(0x80 | (code_point >> 6 & 0x3f));
  }
  byte(0x80 | (code_point & 0x3f));
}

}  // namespace fathom
