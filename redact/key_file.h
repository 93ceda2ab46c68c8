// The secret key of hash rules: 32 random bytes in a file, as 64 hex digits.
//
// Purpose: equal values get equal hashes for as long as the file stays, and nobody without it can test guesses.
// Thread safety: plain functions; of several processes one makes the file. Errors: kInvalid, naming the file and the
// fix.
#pragma once

#include <string>

#include "base/result.h"
#include "redact/redactor.h"

namespace fathom {

inline constexpr const char* kRedactKeyFile = "redact-key";  // in the data or state directory

Result<RedactKey> read_redact_key(const std::string& path);
// Makes the file with mode 0600 if it does not exist. The directory must exist.
Result<RedactKey> read_or_make_redact_key(const std::string& path);

}  // namespace fathom
