// trimmed(): a text without the blanks around it. Thread safety: a pure function; the view is into its argument.
#pragma once

#include <string_view>

namespace fathom {

inline std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace fathom
