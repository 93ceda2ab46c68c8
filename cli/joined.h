// What the server joins of a trace and its captures, fetched by the id of either.
//
// Thread safety: one thread, as Api. Errors: as Api's; kInvalid names the wrong id; kNotFound when it is neither a
// trace's nor a capture's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/api.h"
#include "cli/command.h"

namespace fathom::cli {

// --capture, --span: what of it.
std::vector<Flag> part_flags();
Positional id_positional();
// An id of a trace, or at least its first 8 digits, by which a server finds it, too; nothing: it is neither.
std::optional<std::string> id_or_beginning(std::string_view text);
// `text` is no `what`: of one that was copied in part, how much of it there must be.
Error not_an_id(std::string_view text, const std::string& what, size_t least_digits);
// An id of so many digits, where `flag` gives one; an error names the flag.
Result<> add_id(Target& target, const Args& args, const std::string& flag, std::string_view key, size_t digits);

struct JoinedForm {
  std::string name;         // "timeline" or "perfetto"
  bool all = false;         // other requests, too
  bool everything = false;  // as many items as a server gives, and not as many as it thinks fit
};
Result<std::string> fetch_joined(const Api& api, const Args& args, const JoinedForm& form);

// kNotFound has an exit code of its own where an id was asked for.
ExitCode not_fetched(const Context& context, const Error& error);

}  // namespace fathom::cli
