#include "apps/recorder/by_pt.h"

#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include "apps/recorder/push.h"
#include "apps/recorder/report.h"
#include "base/time.h"
#include "cli/exit_codes.h"
#include "snapshot/record/pt/doctor.h"
#include "snapshot/record/pt/pt_command.h"
#include "snapshot/record/pt/pt_from_function.h"
#include "snapshot/record/pt/pt_from_span.h"

namespace fathom {
namespace {

using namespace snapshot;  // NOLINT(google-build-using-namespace)

volatile std::sig_atomic_t end_signal = 0;

// Ctrl-C ends the recording, and not us: what the rings hold is to be written. What the signals did before comes back.
class EndSignals {
 public:
  EndSignals() {
    struct sigaction action {};
    action.sa_handler = [](int signal) { end_signal = signal; };
    ::sigaction(SIGINT, &action, &interrupt_before_);
    ::sigaction(SIGTERM, &action, &terminate_before_);
  }
  ~EndSignals() {
    ::sigaction(SIGINT, &interrupt_before_, nullptr);
    ::sigaction(SIGTERM, &terminate_before_, nullptr);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  static int take() {
    const int signal = end_signal;
    end_signal = 0;
    return signal;
  }

 private:
  struct sigaction interrupt_before_ {};
  struct sigaction terminate_before_ {};
};

void say(const std::string& message) {
  std::fprintf(stderr, "fathom record: %s\n", message.c_str());
}

std::unique_ptr<PtTrigger> trigger_of(const RecorderOptions& options) {
  if (!options.function.empty())
    return std::make_unique<PtFromFunction>(options.function, options.before_nano, options.after_nano);
  if (!options.span.empty()) return std::make_unique<PtFromSpan>(options.span, options.least_nano);
  return std::make_unique<PtFromStart>();
}

// A command is recorded as a whole; a span may have begun long ago.
uint64_t history_nano(const RecorderOptions& options) {
  constexpr uint64_t kYearNano = kNanosPerHour * 24 * 365;
  const bool whole = options.function.empty() && options.span.empty();
  return whole ? kYearNano : PtOptions().history_nano + 2 * options.least_nano + options.before_nano;
}

void push(const RecorderOptions& options, const std::vector<TakenSnapshot>& taken) {
  const cli::Context context = cli::process_context();
  for (const TakenSnapshot& one : taken) push_to_server(options, one.id, one.trace_id, context);
}

PtCommandRequest request_of(const RecorderOptions& options, bool& armed) {
  PtCommandRequest request;
  request.command = options.command;
  request.options.history_nano = history_nano(options);
  request.options.images = options.private_images ? ImageRule::kAll : ImageRule::kReadable;
  request.windows = options.limits.windows;
  request.armed = [&options, &armed] {
    armed = true;
    if (options.engine == "auto") say("engine pt: this processor has Intel PT");
  };
  request.taken = [&options](const TakenSnapshot& taken) { std::fputs(pt_taken_text(options, taken).c_str(), stderr); };
  request.over = [&options](const std::vector<TakenSnapshot>& taken) { push(options, taken); };
  request.interrupted = EndSignals::take;
  return request;
}

void report(const ReportFile& file, const PtCommandOutcome& outcome) {
  if (outcome.taken.empty()) say("nothing was recorded: " + outcome.fault.value_or("the program did not start"));
  if (auto written = file.write(pt_report_json(outcome.taken)); !written) say(written.error().message);
}

}  // namespace

std::optional<int> record_by_pt(const RecorderOptions& options, const ReportFile& file, PerfSystem& system) {
  auto directory = SnapshotDirectory::open(options.directory);
  if (!directory) {
    say(directory.error().message);
    return static_cast<int>(cli::ExitCode::kLocalFailure);
  }
  const auto trigger = trigger_of(options);
  bool armed = false;
  const EndSignals signals;
  auto outcome = record_pt_command(system, *directory, *trigger, request_of(options, armed));
  if (!outcome) {
    const bool falls_back = options.engine == "auto" && !armed && outcome.error().code != ErrorCode::kNotFound;
    say(falls_back ? "engine step: " + outcome.error().message
                   : outcome.error().message + (armed ? "" : "; --engine step works anywhere"));
    if (falls_back) return std::nullopt;
    return static_cast<int>(cli::ExitCode::kLocalFailure);
  }
  report(file, *outcome);
  return exit_status_of(outcome->wait_status, !outcome->taken.empty());
}

std::string pt_doctor_answer() {
  return report_json(check_pt_of_this_host());
}

}  // namespace fathom
