#include "apps/recorder/report.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/whole_io.h"
#include "cli/exit_codes.h"
#include "net/json_writer.h"
#include "snapshot/format/deadly_signal.h"

namespace fathom {
namespace {

using snapshot::step::StepOutcome;

std::string windows_text(const RecorderOptions& options, const StepOutcome& outcome) {
  const std::string& name = options.function.empty() ? options.span : options.function;
  if (name.empty()) return "";
  if (options.function.empty()) return " in " + plural(outcome.windows, "span") + " of " + name;
  return " in " + plural(outcome.calls, "call") + " of " + name;
}

std::string cut_off_text(const RecorderOptions& options, const StepOutcome& outcome) {
  if (outcome.cut_off == 0) return "";
  const std::string what = plural(outcome.cut_off, options.function.empty() ? "span" : "call");
  return report_line(what + (outcome.cut_off == 1 ? " was" : " were") + " still running when recording ended");
}

std::string death_text(const snapshot::step::StepDeath& death) {
  return "thread " + std::to_string(death.tid) + " was killed by " + snapshot::signal_name(death.signal) + " at " +
         printable(death.place);
}

// To be copied as it is.
std::string next_line(const RecorderOptions& options, const snapshot::SnapshotId& id, const std::string& holder) {
  return report_line("next: fathom snapshot calls " + id.hex().substr(0, 8) + options.directory_words + holder +
                     "   # or functions, insns, syscalls, sunburst");
}

// The holder of the lock that the trigger's thread waited for, and the thread that this holder waits for in the end.
void locks_json(net::JsonWriter& json, const snapshot::HeldLock& lock) {
  json.member("lock_holder", lock.holder).member("blocking_thread", lock.blocking_thread());
  if (lock.chain.is_deadlock) json.member("deadlock", true);
}

}  // namespace

std::string report_line(const std::string& text) {
  return "fathom record: " + text + "\n";
}

std::string report_text(const RecorderOptions& options, const StepOutcome& outcome) {
  if (!outcome.id) return report_line("nothing was recorded: " + outcome.fault.value_or("the program did not start"));
  std::string text = report_line("recorded " + plural(outcome.instructions, "instruction") + " of " +
                                 plural(outcome.threads, "thread") + windows_text(options, outcome) + " by stepping" +
                                 (outcome.slowdown >= 10 ? ", " + slowdown_text(outcome.slowdown) : ""));
  if (outcome.reached_limit)
    text += report_line("that is as many as --steps " + std::to_string(options.limits.most_steps) +
                        " allows; the program went on from there unrecorded");
  text += cut_off_text(options, outcome);
  if (outcome.death) text += report_line(death_text(*outcome.death));
  if (!outcome.reached_main)
    text += report_line(
        "main() was not reached: what was recorded is the dynamic linker, which makes the program ready; without "
        "--from start recording begins behind it");
  if (outcome.gaps != 0) text += report_line(plural(outcome.gaps, "gap") + ": see fathom snapshot stats");
  if (outcome.images.unkept != 0) text += report_line(printable(unkept_images_text(outcome.images)));
  text += report_line("snapshot " + outcome.id->hex() + " in " + options.directory);
  for (const snapshot::HeldLock& lock : outcome.locks) text += report_line(printable(held_lock_text(lock)));
  const std::string holder =
      outcome.locks.empty() ? "" : " --tid " + std::to_string(outcome.locks[0].blocking_thread());
  return text + next_line(options, *outcome.id, holder);
}

std::string binding_hint(bool bound_now, const StepOutcome& outcome, int wait_status) {
  constexpr int kLinkerFailed = 127;  // exit status of ld.so; also a shell's for a command that it cannot find
  const bool is_likely = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kLinkerFailed;
  if (!bound_now || !is_likely || !outcome.started || outcome.id) return "";
  return report_line(
      "COMMAND ended with status 127: if the dynamic linker reported a missing symbol, try --keep-environment, without "
      "which it looks up all symbols at the start, also those that are never used");
}

std::string report_json(const StepOutcome& outcome, std::optional<bool> pushed) {
  std::string text;
  net::JsonWriter json(text);
  json.begin_object().key("snapshot_id");
  outcome.id ? json.string(outcome.id->hex()) : json.null();
  json.member("engine", "step").member("instructions", outcome.instructions).member("threads", outcome.threads);
  json.member("windows", outcome.windows).member("calls", outcome.calls).member("cut_off", outcome.cut_off);
  json.member("gaps", outcome.gaps).member("packet_bytes", outcome.packet_bytes);
  json.key("slowdown").real(outcome.slowdown);
  json.member("reached_limit", outcome.reached_limit).member("reached_main", outcome.reached_main);
  json.member("images", outcome.images.images).member("images_not_kept", outcome.images.unkept);
  if (outcome.images.unkept != 0) json.member("images_not_kept_why", std::string_view(outcome.images.why));
  if (outcome.death) {
    json.key("killed").begin_object().member("signal", std::string_view(snapshot::signal_name(outcome.death->signal)));
    json.member("tid", outcome.death->tid).member("place", std::string_view(outcome.death->place)).end_object();
  }
  if (outcome.trace_id != Id<16>{}) json.member("trace_id", std::string_view(outcome.trace_id.hex()));
  if (pushed) json.member("pushed", *pushed);
  if (!outcome.locks.empty()) locks_json(json, outcome.locks[0]);
  json.end_object();
  return text + "\n";
}

std::string stepping_remark(const RecorderOptions& options) {
  if (!options.around_given) return "";
  return report_line(
      "--before and --after are for Intel PT and say nothing here: a call is stepped from its entry to its return");
}

std::string pt_taken_text(const RecorderOptions& options, const snapshot::TakenSnapshot& taken) {
  const std::string id = taken.id.hex();
  std::string text =
      report_line("engine pt: recorded " + plural(taken.cost.packet_bytes, "byte") + " of packets; snapshot " + id);
  if (taken.cost.cpus_cut_short != 0)
    text += report_line("the rings of " + plural(taken.cost.cpus_cut_short, "CPU") +
                        " did not reach back to its beginning");
  return text + next_line(options, taken.id, "");
}

std::string pt_report_json(const std::vector<snapshot::TakenSnapshot>& taken) {
  std::string text;
  net::JsonWriter json(text);
  json.begin_object().key("snapshot_id");
  taken.empty() ? json.null() : json.string(taken.back().id.hex());
  json.member("engine", "pt").key("snapshot_ids").begin_array();
  for (const snapshot::TakenSnapshot& one : taken) json.string(one.id.hex());
  json.end_array().end_object();
  return text + "\n";
}

Result<ReportFile> ReportFile::open(const RecorderOptions& options) {
  const std::string& path = options.json_file;
  if (path.empty()) return ReportFile(Fd(), "");
  if (path == "-") return ReportFile(Fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)), path);
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!file.open()) return system_error("cannot write to " + printable(path));
  return ReportFile(std::move(file), path);
}

Result<> ReportFile::write(const std::string& json) const {
  if (!file_.open()) return {};
  // A pipe, or a device, has nothing that could be cut off; standard output has what the program wrote.
  if (path_ != "-") (void)!::ftruncate(file_.get(), 0);
  return write_whole(file_.get(), json, "cannot write to " + printable(path_));
}

int exit_status_of(int wait_status, bool recorded) {
  constexpr int kSignalled = 128;
  if (!WIFEXITED(wait_status)) return kSignalled + WTERMSIG(wait_status);
  const bool well = WEXITSTATUS(wait_status) == 0;
  return well && !recorded ? static_cast<int>(cli::ExitCode::kNothingRecorded) : WEXITSTATUS(wait_status);
}

}  // namespace fathom
