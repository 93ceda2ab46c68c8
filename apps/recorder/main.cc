// fathom-recorder: runs a program, and records the instructions that it executes. `fathom record` is its name for
// people.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/recorder/options.h"
#include "apps/recorder/report.h"
#include "base/whole_io.h"
#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/record.h"
#include "snapshot/record/step/from_function.h"
#include "snapshot/record/step/from_span.h"

namespace fathom {
namespace {

using namespace snapshot;  // NOLINT(google-build-using-namespace)

constexpr int kSignalled = 128;  // as shells have it

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
  if (options.json_file.empty()) return;
  const Fd file(::open(options.json_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  const std::string what = "cannot write " + options.json_file;
  const Result<> written = file.open() ? write_whole(file.get(), report_json(outcome), what) : system_error(what);
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
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : kSignalled + WTERMSIG(*status);
}

// Intel PT comes in here: snapshot/record/pt has a recorder of commands of its own.
int record(const RecorderOptions& options) {
  if (options.engine == "pt") {
    const auto why = why_no_pt().value_or("this program records by Intel PT through fathom-agent only");
    return refuse(cli::ExitCode::kLocalFailure, why + "; --engine step works anywhere");
  }
  if (options.engine == "auto") {
    const auto why = why_no_pt();
    if (why) say("fathom record: engine step: " + *why + "\n");
  }
  return record_by_stepping(options);
}

int run(const std::vector<std::string>& words) {
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
