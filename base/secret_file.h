// make_secret_file(): a file that only its owner may read, made once.
//
// Purpose: tokens and keys that a program makes for itself at its first start. Thread safety: a plain function; of
// several processes one makes the file. Errors: kInvalid or kInternal when the file cannot be made; the message names
// it and says what it is.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom {

// Makes the file if it does not exist, with mode 0600, complete from its first moment and synced. A symbolic link
// counts as a file, also when it leads nowhere. The directory must exist. `what`: "token file", say.
Result<> make_secret_file(const std::string& path, std::string_view content, const char* what);

}  // namespace fathom
