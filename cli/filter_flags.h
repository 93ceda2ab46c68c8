// The flags that choose spans and times, shared by the commands that ask for them, and their way into a target.
//
// Times are made absolute here, once: every page of one answer then has the same bounds.
// Errors: kInvalid, naming the flag. Thread safety: pure functions.
#pragma once

#include <vector>

#include "cli/api.h"

namespace fathom::cli {

// --since, --from, --to
std::vector<Flag> range_flags();
Result<> add_range(Target& target, const Args& args, uint64_t now_unix_nano);

// What to add to "nothing matches"; empty when the person chose absolute times.
std::string further_back(const Args& args);

// --service, --operation
std::vector<Flag> operation_flags();
Result<> add_operation(Target& target, const Args& args);

// --where, --errors, --min-duration, --max-duration
std::vector<Flag> condition_flags();
Result<> add_conditions(Target& target, const Args& args);

// --format with these choices; the first is the default.
Flag format_flag(const std::string& human);
Result<std::string> format_of(const Args& args, const std::string& human);

// Several lists of flags as one.
std::vector<Flag> join(std::initializer_list<std::vector<Flag>> lists);

}  // namespace fathom::cli
