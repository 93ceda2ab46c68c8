#include "apps/recorder/options.h"

#include <unistd.h>

#include "cli/snapshot_worker.h"

namespace fathom {
namespace {

constexpr uint64_t kMostSteps = 1'000'000'000'000;
constexpr uint64_t kMostWindows = 1'000'000;

Result<> check_combination(const cli::Args& args, const RecorderOptions& options) {
  if (options.command.empty()) return invalid("missing COMMAND; see fathom record --help");
  if (!options.function.empty() && !options.span.empty())
    return invalid("--function and --span: only one of them says where recording begins");
  const bool windows = !options.function.empty() || !options.span.empty();
  if (options.span.empty() && args.given("--min-duration"))
    return invalid("--min-duration belongs to --span OPERATION");
  if (windows && args.given("--from"))
    return invalid("--from belongs to a whole program; --function and --span say themselves where recording begins");
  if (options.engine == "pt" && args.given("--from") && !options.from_linker)
    return invalid("--from main belongs to --engine step; Intel PT records a whole program from its first instruction");
  for (const char* around : {"--before", "--after"}) {
    if (!args.given(around)) continue;
    if (options.function.empty()) return invalid(std::string(around) + " belongs to --function F");
    if (options.engine == "step")
      return invalid(std::string(around) + " belongs to --engine pt; a call is stepped from its entry to its return");
  }
  if (options.engine == "pt" && args.given("--steps")) return invalid("--steps belongs to --engine step");
  if (options.engine == "pt" && args.given("--threads") && args.get("--threads") == "one")
    return invalid("--threads one belongs to --engine step; Intel PT records all threads of the program");
  if (!windows && args.given("--count")) return invalid("--count belongs to --function or --span");
  if (!windows && args.get("--threads") == "one" && args.given("--threads"))
    return invalid("--threads one belongs to --function or --span; a whole program is recorded with all its threads");
  return {};
}

Result<> read_numbers(const cli::Args& args, RecorderOptions& options) {
  auto steps = args.number("--steps", 1, kMostSteps);
  if (!steps) return steps.error();
  auto count = args.number("--count", 1, kMostWindows);
  if (!count) return count.error();
  options.limits.most_steps = *steps;
  options.limits.windows = *count;
  auto before = args.duration_nano("--before");
  if (!before) return before.error();
  auto after = args.duration_nano("--after");
  if (!after) return after.error();
  options.before_nano = *before;
  options.after_nano = *after;
  if (!args.given("--min-duration")) return {};
  auto least = args.duration_nano("--min-duration");
  if (!least) return least.error();
  options.least_nano = *least;
  return {};
}

}  // namespace

Result<RecorderOptions> recorder_options(const cli::Args& args, const cli::Context& context) {
  RecorderOptions options;
  options.command = args.positionals_from(0);
  options.function = args.get("--function");
  options.span = args.get("--span");
  options.json_file = args.get("--json");
  options.private_images = copies_private_images(args, ::geteuid() == 0);
  options.push = !args.has("--no-push");
  options.connect = [args, context] { return cli::connect(args, context); };
  auto engine = args.one_of("--engine", {"auto", "step", "pt"});
  if (!engine) return engine.error();
  options.engine = *engine;
  auto from = args.one_of("--from", {"main", "start"});
  if (!from) return from.error();
  options.from_linker = *from == "start";
  // A recording of the dynamic linker shall show its work in the program's own environment.
  options.bind_now = !args.has("--keep-environment") && !options.from_linker;
  options.around_given = args.given("--before") || args.given("--after");
  auto threads = args.one_of("--threads", {"all", "one"});
  if (!threads) return threads.error();
  if (auto checked = check_combination(args, options); !checked) return checked.error();
  if (auto read = read_numbers(args, options); !read) return read.error();
  const bool whole_program = options.function.empty() && options.span.empty();
  options.limits.all_threads = whole_program || *threads == "all";
  auto directory = cli::snapshot_directory(args, context);
  if (!directory) return directory.error();
  options.directory = *directory;
  options.directory_words = cli::directory_words(args);
  return options;
}

bool copies_private_images(const cli::Args& args, bool is_root) {
  return !is_root || args.has("--private-images");
}

std::optional<std::string> why_no_pt(const std::string& pmu) {
  if (::access(pmu.c_str(), F_OK) == 0) return std::nullopt;
  return "this machine has no Intel PT that the kernel shows (" + pmu +
         " is missing: another processor, or a virtual machine without it)";
}

}  // namespace fathom
