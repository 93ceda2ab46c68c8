// Patterns of names: which tracepoints are meant. '*' stands for any bytes, also none, '?' for any one byte.
//
// Purpose: the one matcher of programs (client/), agents and the server, so that what one of them says of a pattern
// holds for the others. Header-only and C++17, without exceptions: traced programs compile it too. Thread safety: pure
// functions. Errors: none; every text is a pattern. Cost: length times length at worst, one pass as a rule.
#pragma once

#include <cstddef>
#include <string_view>

namespace fathom {

namespace pattern_detail {

// A star takes as little as it can, and more when what follows does not fit.
template <typename FitsOne>
constexpr bool fits(std::string_view pattern, std::string_view text, FitsOne fits_one) {
  constexpr size_t kNone = ~size_t{0};
  size_t p = 0, n = 0, star = kNone, again = 0;
  while (n < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      again = n;
    } else if (p < pattern.size() && fits_one(pattern[p], text[n])) {
      p++, n++;
    } else if (star != kNone) {
      p = star + 1;
      n = ++again;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') p++;
  return p == pattern.size();
}

}  // namespace pattern_detail

inline constexpr size_t kMostNamePatternBytes = 255;

// What may be given as one of a list, where a comma ends a pattern and a leading minus is a sign.
constexpr bool is_name_pattern(std::string_view text) {
  if (text.empty() || text.size() > kMostNamePatternBytes || text[0] == '-') return false;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f || byte == ',') return false;
  }
  return true;
}

constexpr bool fits_pattern(std::string_view pattern, std::string_view name) {
  return pattern_detail::fits(pattern, name, [](char wanted, char byte) { return wanted == '?' || wanted == byte; });
}

// Whether `pattern` fits every name that `other` fits. No, where that takes more than a look: of "?*" and "*?", say.
constexpr bool covers_pattern(std::string_view pattern, std::string_view other) {
  return pattern_detail::fits(pattern, other, [](char wanted, char of_other) {
    return of_other != '*' && (wanted == '?' || wanted == of_other);
  });
}

}  // namespace fathom
