// open_code(): files of this host that may hold code: programs, libraries, kernel modules, and their debug files.
//
// Purpose: their names come out of recordings. A process that may not open them itself names an opener, which is called
// where the system refuses. Thread safety: open_code() from any thread; set_code_opener() before any other thread.
// Ownership: the opener is kept to the process's end. Errors: a closed Fd, and errno.
#pragma once

#include <functional>
#include <string>

#include "base/fd.h"

namespace fathom::snapshot {

using CodeOpener = std::function<Fd(const std::string& path)>;

void set_code_opener(CodeOpener opener);

// For reading; a pipe or a device does not block.
Fd open_code(const std::string& path);

}  // namespace fathom::snapshot
