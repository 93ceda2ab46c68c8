// fathom-recorder: runs a program, and records the instructions that it executes. `fathom record` is its name for
// people.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/recorder/by_pt.h"
#include "apps/recorder/options.h"
#include "apps/recorder/report.h"
#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/record.h"
#include "snapshot/record/step/from_function.h"
#include "snapshot/record/step/from_span.h"

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

std::unique_ptr<step::StepTrigger> trigger_of(const RecorderOptions& options) {
  if (!options.function.empty()) return std::make_unique<step::FromFunction>(options.function);
  if (!options.span.empty()) return std::make_unique<step::FromSpan>(options.span, options.least_nano);
  return std::make_unique<step::FromStart>();
}

void report(const RecorderOptions& options, const step::StepOutcome& outcome) {
  say(report_text(options, outcome));
  const Result<> written = write_report(options, report_json(outcome));
  if (!written) say("fathom record: " + written.error().message + "\n");
}

int record_by_stepping(const RecorderOptions& options) {
  auto directory = SnapshotDirectory::open(options.directory);
  if (!directory) return refuse(cli::ExitCode::kLocalFailure, directory.error().message);
  const auto trigger = trigger_of(options);
  step::StepRequest request;
  request.command = options.command;
  request.limits = options.limits;
  request.written = [&](const step::StepOutcome& outcome) { report(options, outcome); };
  auto status = step::record_command(*directory, *trigger, request);
  if (!status) return refuse(cli::ExitCode::kLocalFailure, status.error().message);
  return exit_status_of(*status);
}

int record(const RecorderOptions& options) {
  if (options.engine == "step") return record_by_stepping(options);
  if (const auto why = why_no_pt()) {
    if (options.engine == "pt") return refuse(cli::ExitCode::kLocalFailure, *why + "; --engine step works anywhere");
    say("fathom record: engine step: " + *why + "\n");
    return record_by_stepping(options);
  }
  const auto system = real_perf_system();
  const auto status = record_by_pt(options, *system);
  return status ? *status : record_by_stepping(options);
}

int run(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--doctor-pt"}) {
    std::fputs(pt_doctor_answer().c_str(), stdout);
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
  return record(*options);
}

}  // namespace
}  // namespace fathom

int main(int argc, char** argv) {
  return fathom::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
