// replace_file: a small file's new content, whole or not at all, also after a power cut.
//
// Purpose: what must not be found half written: written beside it, synced, and renamed. Thread safety: one writer per
// name. Errors: kInternal, with the system's words; the old content is there then.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace fathom {

// NAME.new is overwritten on the way. `mode`: the file's permissions.
Result<> replace_file(const Fd& directory, const std::string& name, std::string_view content, unsigned mode = 0644);

}  // namespace fathom
