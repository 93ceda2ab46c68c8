// What `fathom record` does with a snapshot of a request once it is written: the server of the request gets it, so that
// `fathom trace` and the page name it.
//
// Purpose: whoever recorded a request looks at it where the request is. Nothing that is recorded depends on it: what
// cannot be brought stays here, and one line says why and how to bring it later. Thread safety: one thread; while it
// brings something, SIGINT ends the process: the recording is written. Errors: none, they are told in `text`.
#pragma once

#include <string>

#include "cli/snapshot_share.h"

namespace fathom::cli {

struct RecordedSnapshot {
  std::string directory;
  std::string directory_words;  // " --directory DIR", for commands that are to find it, too
  std::string id;
  std::string trace_id;
};

struct RecordedPush {
  bool stored = false;  // by the server
  std::string text;     // lines for a person, without whose they are: the caller begins them
  std::string next;     // a command to try next, and what it is for
};

// `connect` gives the server's; `push`: false leaves it here.
RecordedPush push_recorded(const Context& context, const RecordedSnapshot& recorded, const Connect& connect, bool push);

}  // namespace fathom::cli
