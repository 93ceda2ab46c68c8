// fathom store: checks of a data directory that no server uses, by fathom-store, which knows the formats.
#include "cli/store.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/command.h"
#include "cli/places.h"

namespace fathom::cli {

namespace {

constexpr const char* kName = "fathom store";

Flag json_flag() {
  return {"--json", "", "print the report as one JSON document"};
}

// In our place: the terminal, its signals and the exit status are those of fathom-store.
ExitCode run_store(const Args& args, const Context& context, const CommandLine& line, const std::string& verb) {
  Result<std::string> program = sibling_program(context, "fathom-store");
  if (!program) {
    return failed_here(context, not_found(program.error().message + "; the package fathom-server contains it"));
  }
  std::vector<std::string> words = store_words(args, line, verb);
  std::vector<char*> pointers{program->data()};
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(program->c_str(), pointers.data());
  return failed_here(context, internal("cannot run " + *program + ": " + std::strerror(errno)));
}

ExitCode run_verify(const Args& args, const Context& context) {
  return run_store(args, context, store_verify_line(kName), "verify");
}

ExitCode run_store_purge(const Args& args, const Context& context) {
  return run_store(args, context, store_purge_line(kName), "purge");
}

ExitCode run_repair(const Args& args, const Context& context) {
  return run_store(args, context, store_repair_line(kName), "repair");
}

const Command& verify_command() {
  static const Command kCommand{store_verify_line(kName), run_verify};
  return kCommand;
}

const Command& repair_command() {
  static const Command kCommand{store_repair_line(kName), run_repair};
  return kCommand;
}

const Command& store_purge_command() {
  static const Command kCommand{store_purge_line(kName), run_store_purge};
  return kCommand;
}

}  // namespace

CommandLine store_group_line(const std::string& program) {
  return {
      program,
      "check, repair and purge the data directory of a server",
      "These commands read a data directory directly. They reject a directory that a server uses, and no server can "
      "start on it while they run. The package fathom-server contains them.",
      {},
      {},
      {{program + " verify /var/lib/fathom", "check every byte that the server would read"},
       {program + " repair /var/lib/fathom /srv/fathom/data", "salvage what is intact into a new directory"},
       {program + " purge --where user.id=4711 /var/lib/fathom", "delete a user's requests"}}};
}

CommandLine store_verify_line(const std::string& program) {
  return {program + " verify",
          "check a data directory without changing it",
          "Reads the version, the manifest, every log, every block of every sorted file, every capture, snapshot and "
          "image, "
          "kept answers, tracepoint rules and the age clock of DIR. Decodes every record, index and list, and compares "
          "them "
          "with each other. Of the backup of an upgrade it reads the manifest, and checks that the listed parts exist. "
          "Nothing in DIR is created, changed or removed. "
          "It cannot notice that a snapshot, image, kept answer or the rules were deleted, because no other "
          "file names them. It does not read DIR/damaged, unfinished uploads, and the contents of DIR/before-upgrade. "
          "The report counts what was checked and names each damage with "
          "what it affects: times, spans and traces at most. Losses that the server found and recorded earlier are "
          "listed as known. Uses 150 to 400 MiB of memory, and the size of the logs. Exits with 0 if DIR is intact, "
          "7 if it has damage, and 5 if it cannot be checked, for example because a server uses it.",
          {{"DIR", "the data directory, as --data of fathom-server and fathom up names it"}},
          {json_flag()},
          {{program + " verify /var/lib/fathom", "run as the user fathom, or as root, with fathom-server stopped"}}};
}

CommandLine store_repair_line(const std::string& program) {
  return {
      program + " repair",
      "salvage what is intact of a data directory into a new one",
      "Copies everything that is intact in DIR to NEW_DIR; DIR is only read. Spans keep their times of reception, so "
      "retention goes on as before. A block of up to 1,024 spans is the smallest unit of loss. The server on NEW_DIR "
      "reports the losses. The command first prints the space that it needs, and stops if the file system of NEW_DIR "
      "has less. It writes NEW_DIR.unfinished and renames it at the end: an interrupted repair begins anew. A "
      "finished NEW_DIR that was made of the same DIR is left as it is, with the exit status of the first run. A "
      "NEW_DIR "
      "that was made of another directory is rejected. A DIR that a newer program wrote is rejected, and so is one "
      "with "
      "an unfinished revert of an upgrade. Then start the server with --data NEW_DIR. Exits with 0 if "
      "nothing was lost, 7 if something was, and 5 if the repair failed.",
      {{"DIR", "the damaged data directory"},
       {"NEW_DIR",
        "the new one, outside of DIR, which must not exist or must be empty, and must not be a mount point"}},
      {json_flag()},
      {{program + " repair /var/lib/fathom /srv/fathom/data",
        "run as the user that the server runs as, who must be able to write in /srv/fathom"}}};
}

CommandLine store_purge_line(const std::string& program) {
  return {
      program + " purge",
      "delete the requests with a matching span from a data directory",
      "Deletes each trace that has a span for which all conditions hold, with its captures and snapshots, as 'fathom "
      "purge' does by a running server. Copies what stays to DIR/purge, searches the copy, and puts it in the place "
      "of the old data: the file system of DIR needs as much free space. An interrupted purge changes nothing until "
      "the copy is complete; the next start of the server completes it then. Rejects a directory with a backup of "
      "an upgrade or with damaged logs, which may contain what is to be deleted; the error names the fix. Exits "
      "with 0 if something was deleted and nothing that matches is left, 1 if nothing matches, 7 if captures are "
      "left that cannot be decoded, and 5 if the purge failed.",
      {{"DIR", "the data directory, as --data of fathom-server and fathom up names it"}},
      {{"--where", "CONDITION", "a span of the request meets this; 'fathom slowest --help' has the forms", "", true},
       {"--dry-run", "", "only count; nothing is changed"},
       json_flag()},
      {{program + " purge --where user.id=4711 --dry-run /var/lib/fathom", "what would be deleted"},
       {program + " purge --where user.id=4711 /var/lib/fathom",
        "run as the user that the server runs as, with the server stopped"}}};
}

std::vector<std::string> store_words(const Args& args, const CommandLine& line, const std::string& verb) {
  std::vector<std::string> words{verb};
  for (const Flag& flag : line.flags) {
    if (flag.value.empty() && args.has(flag.name)) words.push_back(flag.name);
    if (flag.value.empty()) continue;
    for (const std::string& value : args.all(flag.name)) words.push_back(flag.name + "=" + value);
  }
  words.push_back("--");
  for (const std::string& word : args.positionals_from(0)) words.push_back(word);
  return words;
}

const Command& store_command() {
  static const Command kCommand{
      store_group_line(kName), nullptr, {&verify_command(), &repair_command(), &store_purge_command()}};
  return kCommand;
}

}  // namespace fathom::cli
