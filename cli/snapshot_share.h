// Snapshots between this host's directory and a server: pushed, pulled, or pulled when they are not here.
//
// Purpose: what was recorded here can be looked at elsewhere. A snapshot goes as it is, its images beside it, each
// once: whoever has one already is not sent it again, and what broke off goes on where it stopped. What a snapshot
// holds is not looked into here: the server says which images it names. The directory's layout is that of
// docs/formats/snapshot.md. Progress goes to `err` once a second, from the first second on. Thread safety: one thread;
// several processes may use one directory. Errors: kNotFound names what is missing; kCorrupt for bytes whose hash is
// not their name; the Api's; kInternal for this host's files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/api.h"
#include "cli/command.h"
#include "cli/context.h"

namespace fathom::cli {

struct Shared {
  uint64_t moved_bytes = 0;
  size_t moved_images = 0;
  size_t kept_images = 0;     // that were there already
  size_t missing_images = 0;  // that the snapshot names and nobody here has
};

// "pushed 1.2 MiB with 3 images; 5 were there already"
std::string shared_text(const Shared& shared, const std::string& verb);

// The id in full, of a snapshot in the directory: by its id, a beginning of at least 4 characters, or 'last': the
// newest that was recorded or imported here, or, where all were pulled, the newest.
Result<std::string> find_here(const std::string& directory, std::string_view text);
// The same of a server's; a whole id comes back unasked. 'last' is the one that was taken last.
Result<std::string> find_on_server(const Api& api, std::string_view text);
// `id` in full.
Result<Shared> push_snapshot(const Context& context, const Api& api, const std::string& directory,
                             const std::string& id);
Result<Shared> pull_snapshot(const Context& context, const Api& api, const std::string& directory,
                             const std::string& id);

// What every verb may say first: a snapshot that is here by this text; else, where the text is an id or may begin one,
// pulled from the server that `connect` gives. A text that is neither comes back as it is, for whoever explains what is
// wrong.
using Connect = std::function<Result<Api>()>;
Result<std::string> here_or_pulled(const Context& context, const std::string& directory, const std::string& text,
                                   const Connect& connect);

// push, pull
std::vector<const Command*> snapshot_share_commands();

}  // namespace fathom::cli
