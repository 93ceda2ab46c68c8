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

}  // namespace fathom::store
