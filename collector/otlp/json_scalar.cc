#include "collector/otlp/json_scalar.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

namespace fathom::collector {

namespace {

template <typename T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// An integer in a double's spelling, such as 1e3. 2^64 and 2^63 themselves are already too large.
template <typename T>
std::optional<T> integer_from_double(std::string_view text) {
  std::optional<double> value = whole_number<double>(text);
  if (!value || std::trunc(*value) != *value) return std::nullopt;
  double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (*value >= limit || *value < (std::is_signed_v<T> ? -limit : 0.0)) return std::nullopt;
  return static_cast<T>(*value);
}

std::string_view number_text(JsonCursor& json, std::string& scratch) {
  return json.at_string() ? json.string(scratch) : json.number();
}

template <typename T>
T integer(JsonCursor& json) {
  if (json.take_null()) return 0;
  std::string scratch;
  std::string_view text = number_text(json, scratch);
  if (json.failed()) return 0;
  std::optional<T> value = whole_number<T>(text);
  if (!value) value = integer_from_double<T>(text);
  if (!value) json.fail("expected an integer that fits");
  return value.value_or(0);
}

std::optional<double> named_double(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

}  // namespace

uint64_t json_uint64(JsonCursor& json) {
  return integer<uint64_t>(json);
}
int64_t json_int64(JsonCursor& json) {
  return integer<int64_t>(json);
}
uint32_t json_uint32(JsonCursor& json) {
  return integer<uint32_t>(json);
}

double json_double(JsonCursor& json) {
  if (json.take_null()) return 0;
  bool quoted = json.at_string();
  std::string scratch;
  std::string_view text = number_text(json, scratch);
  if (json.failed()) return 0;
  std::optional<double> value = quoted ? named_double(text) : std::nullopt;
  if (!value) value = whole_number<double>(text);
  if (!value) json.fail("expected a number that fits");
  return value.value_or(0);
}

uint8_t json_enum(JsonCursor& json, std::span<const JsonEnumName> names) {
  if (!json.at_string()) {
    int64_t number = json_int64(json);
    for (const JsonEnumName& known : names) {
      if (number == known.value) return known.value;
    }
    return 0;
  }
  std::string scratch;
  std::string_view name = json.string(scratch);
  for (const JsonEnumName& known : names) {
    if (name == known.name) return known.value;
  }
  return 0;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  unsigned count = 0;
  for (char c : text) {
    int digit = base64_digit(c);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count));
  }
  return bytes;
}

}  // namespace fathom::collector
