// sync_directory: makes the names in a directory durable, as fsync of a file does for its content; sync_path: either.
//
// Purpose: a file that was created in or renamed into a directory may be gone after a power cut until the directory is
// synced. Thread safety: all of it. Errors: kInternal, with the system's words.
#pragma once

#include <string>

#include "base/result.h"

namespace fathom {

Result<> sync_directory(const std::string& path);
// A file or a directory.
Result<> sync_path(const std::string& path);
// Syncs `path` and the directory that contains it, so that the directory itself is durable, too.
Result<> sync_new_directory(const std::string& path);

}  // namespace fathom
