// Who holds a lock on a file, so that "in use" can say by whom.
//
// Thread safety: all of it. Only asks: nothing is locked. Not for files that this process has locked itself: with
// fcntl's locks, closing any descriptor of the file would let go of them.
#pragma once

#include <optional>
#include <string>

namespace fathom {

// "process 12 (fathom-server)": another process with a write lock of fcntl on it. Nothing when there is none, or no
// file.
std::optional<std::string> lock_holder(const std::string& file);

}  // namespace fathom
