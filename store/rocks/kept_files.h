// The list of the files that an upgrade's backup keeps, with their sizes.
//
// Purpose: a revert replaces the newer data by the backup, so it must notice a file that is missing or cut off before
// it removes anything. Shapes: DIR/before-upgrade/files (docs/formats/data-directory.md). Thread safety: plain
// functions, one caller per directory. Errors: kCorrupt for a damaged list or a missing or changed file; failed reads
// and writes.
#pragma once

#include <string>

#include "base/result.h"

namespace fathom::store {

// `backup`: the directory of the parts. Durable when it returns.
Result<> write_kept_files(const std::string& backup);

// Ignores parts that are no longer there, and everything if there is no list: older programs wrote none.
Result<> check_kept_files(const std::string& backup);

}  // namespace fathom::store
