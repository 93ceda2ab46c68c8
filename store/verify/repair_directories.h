// The two directories of a repair: whether they can be used together, and whether the new one is made already.
//
// Thread safety: plain functions. Errors: kInvalid: a directory is wrong, and the message names the fix.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "store/verify/repair.h"

namespace fathom::store {

// Absolute, without symbolic links, and without an empty name at the end.
std::string resolved_path(const std::string& path);

// kInvalid: one is inside the other, or the new one has files that no repair made.
Result<> check_directories(const RepairRequest& request);

}  // namespace fathom::store
