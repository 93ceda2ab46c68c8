#include "cli/record.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/api.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/places.h"

namespace fathom::cli {

namespace {

std::vector<Flag> recording_flags() {
  return {
      {"--engine", "auto|step|pt", "what records; auto: pt where the machine has it, else step, and it says which",
       "auto"},
      {"--function", "F",
       "from each entry of this function until it returns (by Intel PT: around it, see --before); as it is in the "
       "source, with or without parameters, or mangled; '*' stands for anything, as in 'Cart::*', where at most four "
       "functions fit"},
      {"--span", "OPERATION",
       "while a span of this name, of fathom's client, is active in a thread; '*' stands for anything, and '?' beside "
       "one for any character: 'shelves.*'"},
      {"--min-duration", "D",
       "with --span: only once it has been open for so long, and while it still is (by Intel PT: what it did until "
       "then)"},
      {"--before", "D", "with --function, by Intel PT: so much of what ran before the entry too", "1ms"},
      {"--after", "D", "with --function, by Intel PT: until so long after the entry, whether it returned or not",
       "10ms"},
      {"--count", "N", "with --function or --span: so many of them, one after the other", "1"},
      {"--from", "main|start",
       "of a whole program, by stepping: from main() on (where that name was stripped, from its entry point), or from "
       "the first instruction of the dynamic linker, whose work may take millions of them",
       "main"},
      {"--steps", "N", "by stepping: at most so many instructions, of all threads together", "1000000"},
      {"--threads", "all|one",
       "with --function or --span, by stepping: record the other threads of the process too, and new ones (all), "
       "or let them run (one); 'all' reports the thread that holds the lock which the recorded thread waits for, and "
       "the locks which that holder waits for",
       "one"},
      {"--keep-environment", "",
       "by stepping: do not set LD_BIND_NOW=1 for COMMAND and the programs that it starts (never set with --from "
       "start, or if the environment has it); it makes the dynamic linker look up all functions before main(), not at "
       "their first calls, which take long by stepping"},
      {"--directory", "DIR",
       "where snapshots lie (default: $FATHOM_SNAPSHOTS, or fathom/snapshots in $XDG_DATA_HOME or ~/.local/share)"},
      {"--json", "FILE",
       "write one line of JSON there, with the snapshot's id, when it is complete; '-': to standard output"},
      {"--private-images", "",
       "as root: keep programs and libraries too that not everybody may read, by their mode; without it, what ran in "
       "them is a gap (other users keep every file that they can open)"},
      {"--no-push", "", "leave the snapshot of a request here"}};
}

CommandLine make_line() {
  return {
      "fathom record",
      "run a program and record the instructions that it executes",
      "Runs COMMAND and leaves a snapshot: every instruction of a stretch of it, with times, system calls and signals. "
      "Without --function or --span that is the program from main() on; better is to say where it is slow. Outside of "
      "the stretch the program runs at full speed, and after it for good; its output and its exit status are passed "
      "on, but for 0 where nothing was recorded, which becomes 6. Two engines write the same packets. 'pt' is Intel "
      "PT, which costs a program up to a quarter of its speed "
      "and needs a processor that has it. 'step' works anywhere: it stops the program at each instruction, so that the "
      "recorded "
      "stretch runs some hundred thousand times slower, locks held longer and timeouts included; what "
      "it tells is which instructions ran, not how fast. By stepping all windows are one snapshot; by Intel PT each is "
      "one, with what led to it. Ctrl-C ends the recording, and what was recorded until then is kept. A snapshot of a "
      "request, which --span gives, and --function inside of a span of fathom's client, goes to the server at --url, "
      "where 'fathom trace' names it; where no server answers, it is kept here. A snapshot comes with copies of the "
      "programs and libraries that ran: on the server, users with the scope snapshots can download them.",
      {{"COMMAND", "the program and its arguments, after --", true}},
      join({recording_flags(), connection_flags()}),
      {{"fathom record --function checkout -- ./shop",
        "the first call of checkout(); then: fathom snapshot calls last"},
       {"fathom record --span reserve --min-duration 50ms -- ./shop", "what a slow request still does after 50 ms"},
       {"fathom record -- /bin/true", "a whole small program"}}};
}

// COMMAND stands for at least one word.
bool has_command(const Args& args) {
  return !args.positionals_from(0).empty();
}

ExitCode run_record(const Args& args, const Context& context) {
  if (!has_command(args)) {
    context.fail("missing COMMAND; see fathom record --help");
    return ExitCode::kUsage;
  }
  Result<std::string> program = sibling_program(context, "fathom-recorder");
  if (!program) return failed_here(context, program.error());
  std::vector<std::string> words = record_words(args);
  std::vector<char*> pointers{program->data()};
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // In our place: the terminal, its signals and the exit status are the recorder's own.
  ::execv(program->c_str(), pointers.data());
  return failed_here(context, internal("cannot run " + *program + ": " + std::strerror(errno)));
}

}  // namespace

const CommandLine& record_line() {
  static const CommandLine kLine = make_line();
  return kLine;
}

std::vector<std::string> record_words(const Args& args) {
  std::vector<std::string> words;
  for (const Flag& flag : record_line().flags) {
    if (!args.has(flag.name)) continue;
    words.push_back(flag.value.empty() ? flag.name : flag.name + "=" + args.get(flag.name));
  }
  words.push_back("--");
  for (const std::string& word : args.positionals_from(0)) words.push_back(word);
  return words;
}

const Command& record_command() {
  static const Command kCommand{record_line(), run_record};
  return kCommand;
}

}  // namespace fathom::cli
