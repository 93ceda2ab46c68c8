// Text on a terminal: made harmless, measured in columns, cut and padded.
//
// Purpose: names and values come from strangers, and a terminal obeys control characters; nothing of theirs is printed
// before it went through printable() or json_safe(). Widths are in terminal columns: a Chinese character takes two, a
// combining mark none.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom {

// One code point off the front of `text`; a byte that is no UTF-8 is taken alone and `valid` is false.
struct CodePoint {
  uint32_t value = 0;
  bool valid = false;
  std::string_view bytes;
};
CodePoint take_code_point(std::string_view& text);

// Control characters as \n, \t, \x1b; invisible and direction-changing ones as \u{202e}; bytes that are no UTF-8 as
// \xff.
std::string printable(std::string_view text);

// The same for JSON text, where such characters can only stand inside strings: they become \u escapes, so that the
// document says the same as before.
std::string json_safe(std::string_view json);

size_t display_width(std::string_view text);

// At most `width` columns; what is cut ends in an ellipsis.
std::string cut_to_width(std::string_view text, size_t width);

enum class Align { kLeft, kRight };
std::string pad_to_width(std::string_view text, size_t width, Align align);

// "2026-11-21 02:00:00.123", UTC.
std::string short_instant(uint64_t unix_nano);

// Of `all` lines, at most `most` (0: all of them): but one that is left over, as the line that would tell of it is as
// long.
uint64_t lines_shown(uint64_t all, uint64_t most);

// "1,234,567"
std::string group_digits(uint64_t number);

// A number with its noun: "1 span", "1,204 spans", "2 batches", "3 losses".
std::string plural(uint64_t count, const std::string& noun);

// "812 times slower", "591,000 times slower": three figures are all that it is worth; "1.4 times slower" where a digit
// behind the point says something; empty for 0: not measured.
std::string slowdown_text(double slowdown);

}  // namespace fathom
