// The token of this host: what queries, control and the page need where a server asks for one by --query-token-file.
//
// Purpose: the server makes the file; clients of the same user find it by themselves, so that nobody configures
// anything on one host. Thread safety: plain functions. Errors: kInvalid, naming the flag and the cure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/args.h"
#include "cli/security_flags.h"

namespace fathom::cli {

Flag query_token_flag();

// Where a server answers queries, and what it keeps.
struct QueryPlace {
  ListenerFiles files;
  std::vector<std::string> addresses;  // of queries; empty ones are off
  std::string data_directory;
};

// The file of --query-token-file. No value: no token is asked for, and nobody said so. Empty: likewise, but 'none' was
// given. 'auto', and `fathom up` without the flag, mean DATA/query-token if it exists, or if the data directory is new:
// installations of earlier versions have none, and go on without. Tokens go over no
// address in the clear, except within this host: that is an error.
Result<std::optional<std::string>> query_token_file(const std::optional<std::string>& given, const QueryPlace& place);
inline constexpr const char* kAutomaticQueryToken = "auto";
inline constexpr const char* kQueryTokenFlag = "--query-token-file";

}  // namespace fathom::cli
