// fathom-recorder: runs a program, and records the instructions that it executes. `fathom record` is its name for
// people.
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/recorder/by_pt.h"
#include "apps/recorder/options.h"
#include "apps/recorder/progress.h"
#include "apps/recorder/push.h"
#include "apps/recorder/report.h"
#include "base/time.h"
#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/record.h"
#include "snapshot/record/step/from_function.h"
#include "snapshot/record/step/from_span.h"
#include "snapshot/record/step/from_start.h"
#include "snapshot/record/step/launch.h"

namespace fathom {
namespace {

using namespace snapshot;  // NOLINT(google-build-using-namespace)

void say(const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

int refuse(cli::ExitCode code, const std::string& message) {
  say("fathom record: " + message + "\n");
  return static_cast<int>(code);
}

// Null: the whole program.
std::unique_ptr<step::StepTrigger> window_of(const RecorderOptions& options) {
  if (!options.function.empty()) return std::make_unique<step::FromFunction>(options.function);
  if (!options.span.empty()) return std::make_unique<step::FromSpan>(options.span, options.least_nano);
  return nullptr;
}

StepProgress progress_on_terminal(const RecorderOptions& options) {
  const auto tell = [](std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); };
  return {options.limits.most_steps,
          ::isatty(STDERR_FILENO) == 1 ? std::function<void(std::string_view)>(tell) : nullptr, now_monotonic_nano};
}

void report(const RecorderOptions& options, const ReportFile& file, const step::StepOutcome& outcome) {
  say(report_text(options, outcome));
  const auto pushed =
      outcome.id ? push_to_server(options, *outcome.id, outcome.trace_id, cli::process_context()) : std::nullopt;
  const Result<> written = file.write(report_json(outcome, pushed));
  if (!written) say("fathom record: " + written.error().message + "\n");
}

int record_by_stepping(const RecorderOptions& options, const ReportFile& file) {
  auto directory = SnapshotDirectory::open(options.directory);
  if (!directory) return refuse(cli::ExitCode::kLocalFailure, directory.error().message);
  const auto window = window_of(options);
  using Begin = step::FromStart::Begin;
  step::FromStart start(options.from_linker ? Begin::kLinker : Begin::kMain);
  say(stepping_remark(options));
  StepProgress progress = progress_on_terminal(options);
  step::StepRequest request;
  request.command = options.command;
  request.limits = options.limits;
  request.bind_now = options.bind_now;
  request.private_images = options.private_images;
  request.observer = [&](pid_t, uint64_t ip) {
    start.ran(ip);
    progress.step(start.reached_main() ? "" : "in the dynamic linker (ld.so), before main()");
  };
  step::StepOutcome outcome;
  request.written = [&](const step::StepOutcome& written) {
    outcome = written;
    progress.clear();
    outcome.reached_main = start.reached_main();
    report(options, file, outcome);
  };
  auto status = step::record_command(*directory, window ? *window : start, request);
  progress.clear();
  if (!status) return refuse(cli::ExitCode::kLocalFailure, status.error().message);
  say(binding_hint(step::binds_now({.bind_now = options.bind_now}), outcome, *status));
  return exit_status_of(*status, outcome.id.has_value());
}

int record(const RecorderOptions& options, const ReportFile& file) {
  if (options.engine == "step") return record_by_stepping(options, file);
  if (const auto why = why_no_pt()) {
    if (options.engine == "pt") return refuse(cli::ExitCode::kLocalFailure, *why + "; --engine step works anywhere");
    say("fathom record: engine step: " + *why + "\n");
    return record_by_stepping(options, file);
  }
  const auto system = real_perf_system();
  const auto status = record_by_pt(options, file, *system);
  return status ? *status : record_by_stepping(options, file);
}

int run(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--doctor-pt"}) {
    std::fputs(pt_doctor_answer().c_str(), stdout);
    return 0;
  }
  if (words == std::vector<std::string>{"--version"}) {
    std::puts("fathom-recorder " FATHOM_VERSION);
    return 0;
  }
  auto args = cli::parse_args(cli::record_line(), words);
  if (!args) return refuse(cli::ExitCode::kUsage, args.error().message);
  if (args->wants_help()) {
    std::fputs(cli::command_help(cli::record_line()).c_str(), stdout);
    return 0;
  }
  auto options = recorder_options(*args, cli::process_context());
  if (!options) return refuse(cli::ExitCode::kUsage, options.error().message);
  auto file = ReportFile::open(*options);
  if (!file) return refuse(cli::ExitCode::kLocalFailure, file.error().message);
  return record(*options, *file);
}

}  // namespace
}  // namespace fathom

int main(int argc, char** argv) {
  return fathom::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
