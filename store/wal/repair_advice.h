// What an error about damage tells the operator to do.
//
// Thread safety: plain functions. `directory`: the data directory.
#pragma once

#include <string>

#include "base/result.h"

namespace fathom::store {

inline std::string repair_advice(const std::string& directory) {
  return "; run 'fathom store repair " + directory + " NEW_DIR' to salvage what is intact";
}

// Damage gets the advice, other errors stay as they are.
inline Error with_repair_advice(Error error, const std::string& directory) {
  if (error.code == ErrorCode::kCorrupt) error.message += repair_advice(directory);
  return error;
}

}  // namespace fathom::store
