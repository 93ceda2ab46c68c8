// hash_line: the last line of a small text file, by which a reader detects damage.
//
// Thread safety: a plain function.
#pragma once

#include <string>

#include "base/sha256.h"

namespace fathom::store {

// `lines`: everything before it.
inline std::string hash_line(const std::string& lines) {
  return "sha256 " + sha256(lines).hex() + "\n";
}

// Whether the last line is the hash of those before it.
inline bool ends_with_hash_line(const std::string& text) {
  if (!text.ends_with('\n')) return false;
  const size_t last = text.size() < 2 ? 0 : text.rfind('\n', text.size() - 2) + 1;
  return text.substr(last) == hash_line(text.substr(0, last));
}

}  // namespace fathom::store
