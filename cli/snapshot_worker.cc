#include "cli/snapshot_worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/time.h"
#include "base/whole_io.h"
#include "cli/api.h"
#include "cli/child.h"
#include "cli/filter_flags.h"
#include "cli/joined.h"
#include "cli/places.h"
#include "cli/shell_word.h"
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

// A name that promises something else is told what it got.
std::string remark_on_format(const Args& args, const WorkerCall& call) {
  const std::string name = call.output.substr(call.output.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  const std::string extension = dot == std::string::npos ? "" : name.substr(dot);
  const bool asked_by_format =
      std::ranges::any_of(call.flags, [](const Flag& flag) { return flag.name == "--format"; });
  const bool as_promised = extension.empty() || extension == ".svg" || extension == ".json" || extension == ".txt";
  if (!asked_by_format || args.given("--format") || as_promised) return "";
  return "wrote a table to " + printable(call.output) +
         "; a name that ends in .svg or .json, or --format, makes it a "
         "picture or JSON\n";
}

// What is ours is not passed on.
bool is_handled_here(const std::string& flag) {
  auto names_it = [&](const Flag& other) { return other.name == flag; };
  return flag == "-o" || flag == "--directory" || flag == "--format" ||
         std::ranges::any_of(connection_flags(), names_it);
}

// What names code of this host: the programs of a recording, and their debug files.
bool reads_code(const std::string& verb) {
  return verb != "list" && verb != "remove";
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
  if (call.json != nullptr) command.insert(command.end(), {"--format", "json"});
  for (const Flag& flag : call.flags) {
    if (flag.name == "--format") command.insert(command.end(), {flag.name, format_for(args, call.output)});
    if (is_handled_here(flag.name) || !args.has(flag.name)) continue;
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

Result<Fd> in_memory() {
  Fd file(::memfd_create("answer", MFD_CLOEXEC));
  if (!file.open()) return system_error("no memory for an answer");
  return file;
}

Result<> take(const Fd& file, std::string& text) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return system_error("an answer is gone");
  text.resize(static_cast<size_t>(about.st_size));
  return read_whole(file.get(), 0, {reinterpret_cast<uint8_t*>(text.data()), text.size()}, "an answer");
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
  return {"ID", "a snapshot's id, its beginning, or 'last': the newest that was recorded or imported here"};
}

Flag snapshot_directory_flag() {
  return {"--directory", "DIR",
          "where snapshots lie (default: $FATHOM_SNAPSHOTS, or fathom/snapshots in $XDG_DATA_HOME or ~/.local/share)"};
}

std::vector<Flag> worker_flags() {
  return {
      snapshot_directory_flag(),
      {"--memory-mib", "N", "the most memory that decoding may take", "1024"},
      {"--unsafe-worker", "",
       "decode also where this kernel or container does not allow the decoder's confinement; a hostile snapshot can "
       "then do what you can"}};
}

std::vector<Flag> question_flags() {
  return join(
      {{{"--tid", "N", "this thread alone"},
        {"--limit", "N",
         "at most so many rows; 0: all (default: in a table of calls and diff 60, of functions 40; else all)"},
        {"--format", "table|json|svg", "text for people, JSON for programs, or a picture for a browser", "table"},
        {"-o", "FILE", "write the answer there; FILE.svg and FILE.json say the format, too"},
        {"--threads", "N", "to decode with; 0: one per processor", "0"},
        {"--no-cache", "", "work the answer out again, though it is known from before"}},
       connection_flags()});
}

std::string directory_words(const Args& args) {
  const auto given = args.given("--directory");
  return given ? " --directory " + shell_word(*given) : "";
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
  if (reads_code(words->front())) command.push_back("--host-code");
  add_flags(args, call, command);
  command.push_back("--");  // what follows are names, whatever they begin with
  command.insert(command.end(), words->begin(), words->end());
  Result<Fd> file = call.json != nullptr ? in_memory() : open_output(call.output);
  if (!file) return failed_here(context, file.error());
  const ExitCode code = run_child(context, command, file->get());
  const bool to_file = call.json == nullptr && !call.output.empty() && call.output != "-";
  if (to_file && code == ExitCode::kLocalFailure)
    context.fail("cannot write to " + printable(call.output) + ", or not all");
  if (to_file && code == ExitCode::kOk) context.err(remark_on_format(args, call));
  if (call.json == nullptr || code != ExitCode::kOk) return code;
  auto taken = take(*file, *call.json);
  return taken ? code : failed_here(context, taken.error());
}

}  // namespace fathom::cli
