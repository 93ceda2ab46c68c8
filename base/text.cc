#include "base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "base/time.h"

namespace fathom {

namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Invisible or direction-changing: what shows would not be what is there.
constexpr Range kDeceptive[] = {{0x00ad, 0x00ad}, {0x061c, 0x061c}, {0x180e, 0x180e},
                                {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
                                {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};

// Drawn upon the character before them.
constexpr Range kCombining[] = {{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},  {0x064b, 0x065f},
                                {0x0900, 0x0902}, {0x093c, 0x093c}, {0x0e31, 0x0e31},  {0x0e34, 0x0e3a},
                                {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},  {0x20d0, 0x20ff},
                                {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};

// Two columns: East Asian wide and full-width characters, and emoji.
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},
                           {0x2614, 0x2615},   {0x26a1, 0x26a1},   {0x2705, 0x2705},   {0x274c, 0x274c},
                           {0x2753, 0x2757},   {0x2b50, 0x2b50},   {0x2e80, 0x303e},   {0x3041, 0x4dbf},
                           {0x4e00, 0xa4cf},   {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
                           {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18aff},
                           {0x1b000, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f19a},
                           {0x1f200, 0x1f320}, {0x1f32d, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb},
                           {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd}};

template <size_t kSize>
bool in_any(const Range (&ranges)[kSize], uint32_t value) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](Range range) { return value >= range.first && value <= range.last; });
}

bool is_control(uint32_t value) {
  return value < 0x20 || (value >= 0x7f && value < 0xa0);
}
bool is_dangerous(uint32_t value) {
  return is_control(value) || in_any(kDeceptive, value);
}

// How many bytes a lead byte announces, and its payload; nothing for a byte that cannot lead.
struct Lead {
  size_t size = 0;
  uint32_t bits = 0;
  uint32_t least = 0;  // smaller values would be over-long spellings
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if (byte >= 0xc2 && byte < 0xe0) return {2, byte & 0x1fU, 0x80};
  if (byte >= 0xe0 && byte < 0xf0) return {3, byte & 0x0fU, 0x800};
  if (byte >= 0xf0 && byte < 0xf5) return {4, byte & 0x07U, 0x10000};
  return {};
}

CodePoint take_bytes(std::string_view& text, uint32_t value, bool valid, size_t size) {
  CodePoint point{value, valid, text.substr(0, size)};
  text.remove_prefix(size);
  return point;
}

std::string formatted(const char* format, uint32_t value) {
  char buffer[24];
  int size = std::snprintf(buffer, sizeof buffer, format, value);
  return std::string(buffer, static_cast<size_t>(size));
}

std::string escaped(const CodePoint& point) {
  if (!point.valid) return formatted("\\x%02x", static_cast<unsigned char>(point.bytes.front()));
  if (point.value == '\n') return "\\n";
  if (point.value == '\t') return "\\t";
  if (point.value == '\r') return "\\r";
  return point.value < 0x100 ? formatted("\\x%02x", point.value) : formatted("\\u{%x}", point.value);
}

// JSON knows only 16-bit escapes; beyond them, a surrogate pair.
std::string json_escaped(uint32_t value) {
  if (value < 0x10000) return formatted("\\u%04x", value);
  value -= 0x10000;
  return formatted("\\u%04x", 0xd800 + (value >> 10)) + formatted("\\u%04x", 0xdc00 + (value & 0x3ff));
}

size_t width_of(const CodePoint& point) {
  if (!point.valid) return 1;
  if (is_control(point.value) || in_any(kCombining, point.value) || in_any(kDeceptive, point.value)) return 0;
  return in_any(kWide, point.value) ? 2 : 1;
}

}  // namespace

CodePoint take_code_point(std::string_view& text) {
  Lead lead = lead_of(static_cast<unsigned char>(text.front()));
  if (lead.size == 0 || lead.size > text.size()) return take_bytes(text, 0, false, 1);
  uint32_t value = lead.bits;
  for (size_t i = 1; i < lead.size; ++i) {
    unsigned char byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return take_bytes(text, 0, false, 1);
    value = value << 6 | (byte & 0x3f);
  }
  bool surrogate = value >= 0xd800 && value < 0xe000;
  if (value < lead.least || value > 0x10ffff || surrogate) return take_bytes(text, 0, false, 1);
  return take_bytes(text, value, true, lead.size);
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    CodePoint point = take_code_point(text);
    if (!point.valid || is_dangerous(point.value)) {
      out += escaped(point);
    } else {
      out += point.bytes;
    }
  }
  return out;
}

std::string json_safe(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    CodePoint point = take_code_point(json);
    bool layout = point.value == '\n' || point.value == '\r' || point.value == '\t';
    if (!point.valid) {
      out += "\\ufffd";
    } else if (is_dangerous(point.value) && !layout) {
      out += json_escaped(point.value);
    } else {
      out += point.bytes;
    }
  }
  return out;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) width += width_of(take_code_point(text));
  return width;
}

std::string cut_to_width(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::string_view rest = text;
  size_t used = 0;
  size_t kept = 0;
  while (!rest.empty()) {
    CodePoint point = take_code_point(rest);
    used += width_of(point);
    if (used > width - 1) break;
    kept += point.bytes.size();
  }
  return std::string(text.substr(0, kept)) + "\u2026";
}

std::string pad_to_width(std::string_view text, size_t width, Align align) {
  size_t used = display_width(text);
  std::string blanks(width > used ? width - used : 0, ' ');
  return align == Align::kLeft ? std::string(text) + blanks : blanks + std::string(text);
}

std::string short_instant(uint64_t unix_nano) {
  std::string full = format_instant(unix_nano);  // 2026-11-21T02:00:00.123456789Z
  return full.substr(0, 10) + " " + full.substr(11, 12);
}

uint64_t lines_shown(uint64_t all, uint64_t most) {
  return most == 0 || all - std::min(all, most) <= 1 ? all : most;
}

std::string group_digits(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string plural(uint64_t count, const std::string& noun) {
  if (count == 1) return "1 " + noun;
  const bool takes_es = noun.ends_with("s") || noun.ends_with("x") || noun.ends_with("ch") || noun.ends_with("sh");
  return group_digits(count) + " " + noun + (takes_es ? "es" : "s");
}

std::string slowdown_text(double slowdown) {
  if (!(slowdown > 0)) return "";
  if (slowdown >= 10) {
    const double size = std::min(slowdown, 1e18);
    const auto unit = static_cast<uint64_t>(std::llrint(std::pow(10, std::max(std::floor(std::log10(size)) - 2, 0.0))));
    return group_digits(static_cast<uint64_t>(std::llrint(size / static_cast<double>(unit))) * unit) + " times slower";
  }
  char text[48];
  std::snprintf(text, sizeof text, "%.1f times slower", slowdown);
  return text;
}

}  // namespace fathom
