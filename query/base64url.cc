#include "query/base64url.h"

#include <cstdint>

namespace fathom::query {

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string base64url_encode(std::string_view bytes) {
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (unsigned char byte : bytes) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6; count -= 6) text.push_back(kDigits[bits >> (count - 6) & 63]);
  }
  if (count > 0) text.push_back(kDigits[bits << (6 - count) & 63]);
  return text;
}

std::optional<std::string> base64url_decode(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count));
  }
  // What is left over must be less than a digit, and zero.
  if (count >= 6 || (bits & ((1u << count) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace fathom::query
