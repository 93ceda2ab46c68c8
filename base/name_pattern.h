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

constexpr bool fits_pattern(std::string_view pattern, std::string_view name) {
  return pattern_detail::fits(pattern, name, [](char wanted, char byte) { return wanted == '?' || wanted == byte; });
}

}  // namespace fathom
