// fathom-worker as the commands of `fathom snapshot` use it: a child that reads snapshots, whose answer is ours.
//
// Purpose: what a snapshot holds is hostile input, so the program that a person types never reads one. Thread safety:
// one thread. Errors: printed; the worker's exit code is ours, and its words are for people already.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace fathom::cli {

Positional snapshot_positional();

// --directory
Flag snapshot_directory_flag();
// --directory, --memory-mib, --unsafe-worker
std::vector<Flag> worker_flags();
// --tid, --limit, --format, -o, --threads, --no-cache, and those of a connection
std::vector<Flag> question_flags();

struct WorkerCall {
  std::vector<std::string> words;  // a verb, and what belongs to it
  std::vector<Flag> flags;         // the command's own: those that were given are passed on
  std::string output;              // a file for the answer; empty or "-": standard output
  size_t ids = 0;                  // so many words behind the verb are snapshots: pulled when a server alone has them
  std::string* json = nullptr;     // takes the answer, as JSON, in the place of `output`
};
ExitCode run_worker(const Args& args, const Context& context, const WorkerCall& call);

// " --directory DIR" where it was given, for commands that a person is told to try next.
std::string directory_words(const Args& args);

// --directory, $FATHOM_SNAPSHOTS, $XDG_DATA_HOME/fathom/snapshots or ~/.local/share/fathom/snapshots.
Result<std::string> snapshot_directory(const Args& args, const Context& context);

}  // namespace fathom::cli
