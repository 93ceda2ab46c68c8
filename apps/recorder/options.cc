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
  auto engine = args.one_of("--engine", {"auto", "step", "pt"});
  if (!engine) return engine.error();
  options.engine = *engine;
  auto threads = args.one_of("--threads", {"all", "one"});
  if (!threads) return threads.error();
  if (auto checked = check_combination(args, options); !checked) return checked.error();
  if (auto read = read_numbers(args, options); !read) return read.error();
  const bool whole_program = options.function.empty() && options.span.empty();
  options.limits.all_threads = whole_program || *threads == "all";
  auto directory = cli::snapshot_directory(args, context);
  if (!directory) return directory.error();
  options.directory = *directory;
  return options;
}

std::optional<std::string> why_no_pt(const std::string& pmu) {
  if (::access(pmu.c_str(), F_OK) == 0) return std::nullopt;
  return "this machine has no Intel PT that the kernel shows (" + pmu +
         " is missing: another processor, or a virtual machine without it)";
}

}  // namespace fathom
