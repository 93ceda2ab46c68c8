// The flags of redaction, of fathom-server and fathom-agent: rules in the syntax of redact/rule.h, and their key.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "cli/args.h"

namespace fathom::cli {

Flag redact_flag();
// `directory`: where the file lies by default, in words.
Flag redact_key_file_flag(const std::string& directory);

}  // namespace fathom::cli
