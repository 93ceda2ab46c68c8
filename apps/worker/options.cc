#include "apps/worker/options.h"

#include <algorithm>
#include <array>

#include "cli/text.h"

namespace fathom {

namespace {

using snapshot::Format;
using snapshot::Verb;

struct VerbName {
  const char* name;
  Verb verb;
};

constexpr std::array kVerbs = {
    VerbName{"insns", Verb::kInsns}, VerbName{"calls", Verb::kCalls},       VerbName{"functions", Verb::kFunctions},
    VerbName{"delta", Verb::kDelta}, VerbName{"syscalls", Verb::kSyscalls}, VerbName{"sunburst", Verb::kSunburst},
    VerbName{"diff", Verb::kDiff},   VerbName{"stats", Verb::kStats},       VerbName{"perfetto", Verb::kPerfetto},
    VerbName{"pprof", Verb::kPprof},
};

cli::CommandLine make_line() {
  return {
      "fathom-worker",
      "decodes snapshots and answers questions about them, apart from everything else",
      "Snapshots, recordings and images are hostile input, so this runs as a program of its own, with bounded memory, "
      "a "
      "list of allowed system calls (seccomp) and of readable paths (Landlock); 'fathom snapshot' starts it. VERB is "
      "insns, calls, functions, delta, syscalls, "
      "sunburst, diff, stats, perfetto, pprof, view, list, remove or import; view keeps a snapshot open and answers "
      "lines "
      "of standard input, for a server. The answer goes to standard output. The exit "
      "status is 0; 1 when the snapshot is not there; 2 for a wrong command line; 5 for everything else.",
      {{"VERB", "what to do"}, {"ID|FILE", "a snapshot's id, its beginning, or 'last'; the file to import", true}},
      {{"--directory", "DIR", "where snapshots lie"},
       {"--memory-mib", "N", "the most memory, images that are mapped not counted", "1024"},
       {"--other", "ID", "diff: the second execution"},
       {"--format", "table|json|svg", "how to answer", "table"},
       {"--count", "", "insns: the number of instructions and of gaps alone"},
       {"--limit", "N",
        "at most so many rows; 0: all (default: in a table of calls and diff 60, of functions 40; else all)"},
       {"--tid", "N", "this thread alone"},
       {"--from", "PATTERN", "delta: where a stretch begins"},
       {"--to", "PATTERN", "delta: where it ends"},
       {"--by", "time|instructions",
        "calls: rank by time including pauses (if the snapshot has times), or by instructions", "time"},
       {"--inlines", "", "insns: the functions that were inlined"},
       {"--source", "", "insns, calls: the text of source lines, of files of this host"},
       {"--source-dir", "FROM[=TO]", "the same, of files whose names begin with FROM, from below TO alone", "", true},
       {"--threads", "N", "to decode with; 0: one per processor", "0"},
       {"--columns", "N", "of the terminal; 0: lines of any length", "0"},
       {"--no-cache", "", "work the answer out, whether or not it is known"},
       {"--host-code", "",
        "read programs, libraries and debug files wherever they lie on this host, through a process that opens no "
        "other "
        "files"},
       {"--unsafe-worker", "",
        "decode also where this kernel or container does not allow the confinement that docs/security.md describes"},
       {"--pt", "FILE", "import: a raw stream of packets"},
       {"--cpu", "FAMILY/MODEL/STEPPING", "import --pt: the processor"},
       {"--mtc-freq", "N", "import --pt: IA32_RTIT_CTL.MTCFreq", "0"},
       {"--nom-freq", "N", "import --pt: the nominal frequency's ratio", "0"},
       {"--cpuid-0x15", "EAX/EBX", "import --pt: the ratio of counter and crystal clock"},
       {"--image", "FILE[@HEXBASE]", "import: code", "", true},
       {"--symfs", "DIR", "import of a perf.data: a directory to look for its files below"},
       {"--kcore", "FILE", "import of a perf.data: the kernel's code"}},
      {{"fathom-worker --directory DIR calls last", "the call tree of the newest snapshot"}}};
}

constexpr uint64_t kMostMtcFreq = 15;  // a field of four bits

// A number that fits its place.
template <typename T>
Result<> take_number(const cli::Args& args, const char* flag, uint64_t most, T& place) {
  auto number = args.number(flag, 0, most);
  if (!number) return number.error();
  place = static_cast<T>(*number);
  return {};
}

Result<std::string> only_argument(const cli::Args& args, const char* what) {
  const auto given = args.positionals_from(1);
  if (given.size() == 1) return given.front();
  return invalid(args.positional(0) + " takes one " + what + ", not " + std::to_string(given.size()));
}

Format format_named(const std::string& name) {
  return name == "json" ? Format::kJson : name == "svg" ? Format::kSvg : Format::kTable;
}

// What a person reads; a program gets all.
uint64_t usual_limit(const snapshot::Question& question) {
  if (question.format != Format::kTable) return 0;
  if (question.verb == Verb::kFunctions) return 40;
  return question.verb == Verb::kCalls || question.verb == Verb::kDiff ? 60 : 0;
}

// Whoever asks may read what is read.
Result<> take_source(const cli::Args& args, snapshot::Question& question) {
  auto directories = snapshot::parse_source_directories(args.all("--source-dir"));
  if (!directories) return invalid("--source-dir: " + directories.error().message);
  question.source_directories = *std::move(directories);
  if (args.has("--source")) question.source_directories.push_back({"/", "/"});
  return {};
}

Result<> question_options(const cli::Args& args, WorkerOptions& options) {
  snapshot::Question& question = options.question;
  question.count_only = args.has("--count");
  question.from = args.get("--from");
  question.to = args.get("--to");
  if (args.given("--other")) options.other = args.get("--other");
  question.inlines = args.has("--inlines");
  auto by = args.one_of("--by", {"time", "instructions"});
  if (!by) return by.error();
  question.by_instructions = *by == "instructions";
  if (auto taken = take_source(args, question); !taken) return taken;
  // Files of this host change, and no answer with their text is kept.
  options.opens_host_sources =
      std::ranges::any_of(question.source_directories, [](const auto& source) { return source.to == "/"; });
  options.cache = !args.has("--no-cache") && question.source_directories.empty();
  question.limit = usual_limit(question);
  if (args.given("--limit")) {
    if (auto taken = take_number(args, "--limit", UINT64_MAX, question.limit); !taken) return taken;
  }
  if (auto taken = take_number(args, "--threads", 1024, question.threads); !taken) return taken;
  if (args.given("--tid")) {
    if (auto taken = take_number(args, "--tid", INT32_MAX, question.tid); !taken) return taken;
  }
  for (const char* flag : {"--from", "--to"}) {
    if (question.verb == Verb::kDelta && args.get(flag).empty()) {
      return invalid(std::string("delta wants ") + flag +
                     " PATTERN: an instruction (cli), a group (superCLI), a function, FILE:LINE or an address");
    }
  }
  if (question.verb == Verb::kDiff && options.other.empty()) {
    return invalid("diff compares two snapshots; name the second one, too: diff ID OTHER");
  }
  return {};
}

Result<> raw_options(const cli::Args& args, snapshot::RawImport& raw) {
  raw.path = args.get("--pt");
  if (args.given("--cpu")) {
    auto cpu = snapshot::parse_cpu(args.get("--cpu"));
    if (!cpu) return invalid("--cpu: " + cpu.error().message);
    raw.cpu = *cpu;
  }
  if (auto taken = take_number(args, "--mtc-freq", kMostMtcFreq, raw.timing.mtc_freq); !taken) return taken;
  if (auto taken = take_number(args, "--nom-freq", UINT8_MAX, raw.timing.nom_freq); !taken) return taken;
  if (!args.given("--cpuid-0x15")) return {};
  auto leaf = snapshot::parse_cpuid15(args.get("--cpuid-0x15"));
  if (!leaf) return invalid("--cpuid-0x15: " + leaf.error().message);
  raw.timing.cpuid_0x15_eax = leaf->eax;
  raw.timing.cpuid_0x15_ebx = leaf->ebx;
  return {};
}

Result<std::vector<snapshot::ImageFile>> image_files(const cli::Args& args) {
  std::vector<snapshot::ImageFile> files;
  for (const std::string& text : args.all("--image")) {
    auto file = snapshot::parse_image_file(text);
    if (!file) return file.error();
    files.push_back(*std::move(file));
  }
  return files;
}

Result<> import_options(const cli::Args& args, const WorkerEnvironment& environment, WorkerOptions& options) {
  auto images = image_files(args);
  if (!images) return images.error();
  if (args.given("--pt")) {
    if (!args.positionals_from(1).empty()) return invalid("import takes a perf.data or --pt FILE, not both");
    options.raw.emplace();
    options.raw->images = *std::move(images);
    options.mtc_freq_given = args.given("--mtc-freq").has_value();
    return raw_options(args, *options.raw);
  }
  for (const char* flag : {"--cpu", "--mtc-freq", "--nom-freq", "--cpuid-0x15"}) {
    if (args.given(flag)) return invalid(std::string(flag) + " goes with --pt FILE; a perf.data says it itself");
  }
  auto path = only_argument(args, "perf.data, or --pt FILE");
  if (!path) return path.error();
  options.perf = snapshot::PerfImport{*path, *std::move(images), args.get("--symfs"), args.get("--kcore"),
                                      environment.home.empty() ? "" : environment.home + "/.debug"};
  return {};
}

Result<> task_options(const cli::Args& args, const WorkerEnvironment& environment, WorkerOptions& options) {
  const std::string& word = args.positional(0);
  if (word == "import") {
    options.task = WorkerTask::kImport;
    return import_options(args, environment, options);
  }
  if (word == "list") {
    options.task = WorkerTask::kList;
    if (!args.positionals_from(1).empty()) return invalid("list takes no id: it lists all");
    return args.given("--limit") ? take_number(args, "--limit", UINT64_MAX, options.question.limit) : Result<>();
  }
  const auto known = std::ranges::find(kVerbs, word, &VerbName::name);
  if (word == "remove" || word == "view") {
    options.task = word == "view" ? WorkerTask::kView : WorkerTask::kRemove;
  } else if (known == kVerbs.end()) {
    return invalid("'" + cli::printable(word) + "' is none of its verbs; see fathom-worker --help");
  } else {
    options.question.verb = known->verb;
  }
  const auto given = args.positionals_from(1);
  const bool two = options.task == WorkerTask::kAsk && options.question.verb == Verb::kDiff && given.size() == 2;
  auto id = two ? Result<std::string>(given.front()) : only_argument(args, "snapshot's id");
  if (!id) return id.error();
  options.id = *id;
  if (two) options.other = given.back();
  return options.task == WorkerTask::kAsk ? question_options(args, options) : Result<>();
}

}  // namespace

const cli::CommandLine& worker_command_line() {
  static const cli::CommandLine kLine = make_line();
  return kLine;
}

Result<WorkerOptions> worker_options(const cli::Args& args, const WorkerEnvironment& environment) {
  WorkerOptions options;
  options.directory = args.get("--directory");
  if (options.directory.empty()) return invalid("--directory DIR says where snapshots lie");
  auto memory = args.number("--memory-mib", 64, 1 << 20);
  if (!memory) return memory.error();
  options.memory_bytes = *memory << 20;
  options.is_unsafe = args.has("--unsafe-worker");
  options.opens_host_code = args.has("--host-code");
  if (auto taken = take_number(args, "--columns", 10'000, options.columns); !taken) return taken.error();
  auto format = args.one_of("--format", {"table", "json", "svg"});
  if (!format) return format.error();
  options.question.format = format_named(*format);
  if (auto task = task_options(args, environment, options); !task) return task.error();
  return options;
}

}  // namespace fathom
