// Colours on a terminal, as the sequences of characters that begin them (ECMA-48), and the one that ends them all.
#pragma once

namespace fathom::cli {

inline constexpr const char* kRed = "\x1b[31m";
inline constexpr const char* kDim = "\x1b[2m";
inline constexpr const char* kBold = "\x1b[1m";
inline constexpr const char* kColourOff = "\x1b[0m";

}  // namespace fathom::cli
