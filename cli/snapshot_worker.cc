#include "cli/snapshot_worker.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/time.h"
#include "cli/api.h"
#include "cli/child.h"
#include "cli/filter_flags.h"
#include "cli/joined.h"
#include "cli/places.h"
#include "cli/snapshot_share.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kForeverNano = 365 * 24 * kNanosPerHour;

// The format by the flag, or else by what the file is called.
std::string format_for(const Args& args, const std::string& output) {
  if (auto given = args.given("--format")) return *given;
  for (const char* format : {"svg", "json"}) {
    if (output.ends_with(std::string(".") + format)) return format;
  }
  return args.get("--format");
}

// What is ours is not passed on.
bool is_ours(const std::string& flag) {
  auto names_it = [&](const Flag& other) { return other.name == flag; };
  return flag == "-o" || flag == "--directory" || flag == "--format" ||
         std::ranges::any_of(connection_flags(), names_it);
}

// The words, with snapshots that only the server has brought here.
Result<std::vector<std::string>> words_here(const Args& args, const Context& context, const WorkerCall& call,
                                            const std::string& directory) {
  std::vector<std::string> words = call.words;
  for (size_t at = 1; at <= call.ids; ++at) {
    auto id = here_or_pulled(context, directory, words[at], [&] { return connect(args, context); });
    if (!id) return id.error();
    words[at] = *id;
  }
  return words;
}

void add_flags(const Args& args, const WorkerCall& call, std::vector<std::string>& command) {
  for (const Flag& flag : call.flags) {
    if (flag.name == "--format") command.insert(command.end(), {flag.name, format_for(args, call.output)});
    if (is_ours(flag.name) || !args.has(flag.name)) continue;
    if (flag.value.empty()) command.push_back(flag.name);
    // As one word: a value may begin with a dash.
    for (const std::string& value : args.all(flag.name)) command.push_back(flag.name + "=" + value);
  }
}

// A child's standard output is ours only where it comes by another number.
Result<Fd> own_output() {
  Fd own(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!own.open()) return system_error("there is no standard output");
  return own;
}

Result<Fd> open_output(const std::string& path) {
  if (path.empty() || path == "-") return own_output();
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.open()) return system_error("cannot write '" + printable(path) + "'");
  return file;
}

ExitCode code_of(int wait_status, const Context& context) {
  if (WIFEXITED(wait_status)) return static_cast<ExitCode>(WEXITSTATUS(wait_status));
  context.fail("fathom-worker " + describe_exit(wait_status) + "; where memory is short, --memory-mib N allows more");
  return ExitCode::kLocalFailure;
}

ExitCode run_child(const Context& context, const std::vector<std::string>& command, int output) {
  Result<Child> child = Child::start({command, "", {{1, output}}});
  if (!child) return failed_here(context, child.error());
  const auto status = child->wait(kForeverNano);
  return status ? code_of(*status, context) : ExitCode::kLocalFailure;
}

}  // namespace

Positional snapshot_positional() {
  return {"ID", "a snapshot's id, its beginning, or 'last' for the newest"};
}

Flag snapshot_directory_flag() {
  return {"--directory", "DIR",
          "where snapshots lie (default: $FATHOM_SNAPSHOTS, or fathom/snapshots in $XDG_DATA_HOME or ~/.local/share)"};
}

std::vector<Flag> worker_flags() {
  return {snapshot_directory_flag(), {"--memory-mib", "N", "the most memory that decoding may take", "1024"}};
}

std::vector<Flag> question_flags() {
  return join(
      {{{"--tid", "N", "this thread alone"},
        {"--limit", "N",
         "at most so many rows; 0: all (default: of calls 60 and of functions 40 in a table, else all)"},
        {"--format", "table|json|svg", "text for people, JSON for programs, or a picture for a browser", "table"},
        {"-o", "FILE", "write the answer there; FILE.svg and FILE.json say the format, too"},
        {"--threads", "N", "to decode with; 0: one per processor", "0"},
        {"--no-cache", "", "work the answer out again, though it is known from before"}},
       connection_flags()});
}

Result<std::string> snapshot_directory(const Args& args, const Context& context) {
  if (auto given = args.given("--directory")) return *given;
  if (auto chosen = context.env("FATHOM_SNAPSHOTS")) return *chosen;
  const auto data = context.env("XDG_DATA_HOME");
  if (data && data->starts_with('/')) return *data + "/fathom/snapshots";
  const auto home = context.env("HOME");
  if (home && home->starts_with('/')) return *home + "/.local/share/fathom/snapshots";
  return invalid("there is no home directory to keep snapshots in; say where: --directory DIR");
}

ExitCode run_worker(const Args& args, const Context& context, const WorkerCall& call) {
  Result<std::string> worker = sibling_program(context, "fathom-worker");
  if (!worker) return failed_here(context, worker.error());
  Result<std::string> directory = snapshot_directory(args, context);
  if (!directory) return failed(context, directory.error());
  Result<std::vector<std::string>> words = words_here(args, context, call, *directory);
  if (!words) return not_fetched(context, words.error());
  std::vector<std::string> command{*worker, "--directory", *directory, "--columns", std::to_string(context.columns)};
  add_flags(args, call, command);
  command.push_back("--");  // what follows are names, whatever they begin with
  command.insert(command.end(), words->begin(), words->end());
  Result<Fd> file = open_output(call.output);
  if (!file) return failed_here(context, file.error());
  return run_child(context, command, file->get());
}

}  // namespace fathom::cli
