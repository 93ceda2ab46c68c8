// A word of a command line that people copy into a shell.
//
// Thread safety: a pure function.
#pragma once

#include <string>
#include <string_view>

#include "cli/text.h"

namespace fathom::cli {

// In quotes where it has to be, and harmless on a terminal.
inline std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%=";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return printable(out + "'");
}

}  // namespace fathom::cli
