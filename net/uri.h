// The text of request targets: percent coding, and the split into path and parameters.
//
// Thread safety: plain functions. Errors: a malformed escape or a target that is no path is kInvalid, never guessed at.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fathom::net {

struct Target {
  std::string path;                                        // percent-decoded
  std::vector<std::pair<std::string, std::string>> query;  // percent-decoded, '+' is a space, in order
};

Result<std::string> percent_decode(std::string_view text, bool plus_is_space);
// Takes the origin form ("/a?b=c"), the absolute form ("http://host/a?b=c") and "*".
Result<Target> parse_target(std::string_view target);

}  // namespace fathom::net
