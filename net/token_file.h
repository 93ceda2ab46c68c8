// make_token_file(): a file with one new token, for clients on this host.
//
// Thread safety: a plain function. Errors: kInvalid or kInternal when the file cannot be made; the message names it.
#pragma once

#include <string>

#include "base/result.h"

namespace fathom::net {

// Makes the file with a new token that has all scopes (tokens.h), if it does not exist. Only its owner may read it. A
// symbolic link counts as a file, also when it leads nowhere. The directory must exist.
Result<> make_token_file(const std::string& path);

}  // namespace fathom::net
