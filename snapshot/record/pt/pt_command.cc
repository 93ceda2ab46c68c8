#include "snapshot/record/pt/pt_command.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "snapshot/record/pt/held_program.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kDrainNano = 100'000'000;
constexpr uint64_t kLookNano = 20'000'000;  // for the end of a command that runs unrecorded

void sleep_until_events(std::vector<pollfd> events, uint64_t most_nano) {
  const timespec most{static_cast<time_t>(most_nano / kNanosPerSecond), static_cast<long>(most_nano % kNanosPerSecond)};
  ::ppoll(events.data(), events.size(), &most, nullptr);
}

void append(std::vector<pollfd>& events, const std::vector<pollfd>& more) {
  events.insert(events.end(), more.begin(), more.end());
}

class PtCommand {
 public:
  PtCommand(PerfSystem& system, const SnapshotDirectory& directory, PtTrigger& trigger, PtCommandRequest request)
      : system_(system), directory_(directory), trigger_(trigger), request_(std::move(request)) {}

  Result<PtCommandOutcome> run() {
    if (request_.command.empty()) return invalid("there is no command to record");
    write_spans_where_possible();
    auto started = trigger_.wants_mapped() ? program_.start_mapped(request_.command) : program_.start(request_.command);
    if (!started) return started.error();
    outcome_.fault = trigger_.find(program_);
    if (auto armed = outcome_.fault ? Result<>() : arm(); !armed) return armed.error();
    if (auto released = program_.release(); !released) return released.error();
    const Result<> recorded = recorder_ != nullptr ? record() : Result<>();
    trigger_.disarm();
    recorder_.reset();
    if (recorded && request_.over) request_.over(outcome_.taken);
    wait_for_end();
    if (!recorded) return recorded.error();
    if (outcome_.taken.empty() && !outcome_.fault) outcome_.fault = trigger_.fault();
    return std::move(outcome_);
  }

 private:
  // The client of the command reads this when it starts: each of its threads then says which span it works for.
  void write_spans_where_possible() {
    if (!has_ptwrite(system_)) return;
    request_.options.ptwrite = true;
    ::setenv("FATHOM_PTWRITE", "1", 0);
  }

  Result<> arm() {
    PtOptions& options = request_.options;
    options.pids = {program_.pid()};
    for (const std::string& word : request_.command) options.command += (options.command.empty() ? "" : " ") + word;
    auto recorder = PtRecorder::arm(system_, directory_, options);
    if (!recorder) return recorder.error();
    recorder_ = *std::move(recorder);
    if (auto begun = trigger_.begin(system_, *recorder_, program_.pid()); !begun) return begun;
    if (request_.armed) request_.armed();
    return {};
  }

  // Until the last window, the command's end, or a signal.
  Result<> record() {
    int status = 0;
    for (bool ends = false; !ends;) {
      std::vector<pollfd> events = recorder_->poll_events();
      append(events, trigger_.poll_events());
      sleep_until_events(std::move(events), std::min(kDrainNano, trigger_.poll_nano()));
      (void)recorder_->drain();
      ends = program_.ended(status) || interrupted();
      if (auto cut = cut_if_due(ends); !cut) return cut;
      ends = ends || outcome_.taken.size() >= request_.windows;
    }
    return {};
  }

  Result<> cut_if_due(bool ends) {
    const auto cut = trigger_.due(ends);
    if (!cut) return {};
    auto taken = recorder_->take(cut->window, cut->trigger);
    if (!taken) return taken.error();
    outcome_.taken.push_back(*taken);
    if (request_.taken) request_.taken(*taken);
    return ends || outcome_.taken.size() >= request_.windows ? Result<>() : trigger_.rearm();
  }

  bool interrupted() {
    const int signal = request_.interrupted ? request_.interrupted() : 0;
    if (signal == SIGTERM) ::kill(program_.pid(), SIGTERM);
    return signal != 0;
  }

  void wait_for_end() {
    while (!program_.ended(outcome_.wait_status)) {
      (void)interrupted();
      sleep_until_events({}, kLookNano);
    }
  }

  PerfSystem& system_;
  const SnapshotDirectory& directory_;
  PtTrigger& trigger_;
  PtCommandRequest request_;
  HeldProgram program_;
  std::unique_ptr<PtRecorder> recorder_;
  PtCommandOutcome outcome_;
};

}  // namespace

Result<PtCommandOutcome> record_pt_command(PerfSystem& system, const SnapshotDirectory& directory, PtTrigger& trigger,
                                           PtCommandRequest request) {
  return PtCommand(system, directory, trigger, std::move(request)).run();
}

}  // namespace fathom::snapshot
