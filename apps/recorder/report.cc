#include "apps/recorder/report.h"

#include <sys/wait.h>

#include <cmath>

#include "base/fd.h"
#include "base/text.h"
#include "base/whole_io.h"
#include "net/json_writer.h"

namespace fathom {
namespace {

using snapshot::step::StepOutcome;

std::string counted(uint64_t count, const std::string& what) {
  return group_digits(count) + " " + what + (count == 1 ? "" : "s");
}

// Two figures are all that it is worth.
std::string rounded(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return group_digits(static_cast<uint64_t>(std::llround(value / unit) * std::llround(unit < 1 ? 1 : unit)));
}

std::string line(const std::string& text) {
  return "fathom record: " + text + "\n";
}

std::string windows_text(const RecorderOptions& options, const StepOutcome& outcome) {
  const std::string& name = options.function.empty() ? options.span : options.function;
  if (name.empty()) return "";
  return " in " + counted(outcome.windows, options.function.empty() ? "span" : "call") + " of " + name;
}

}  // namespace

std::string report_text(const RecorderOptions& options, const StepOutcome& outcome) {
  if (!outcome.id) return line("nothing was recorded: " + outcome.fault.value_or("the program did not start"));
  std::string text = line("recorded " + counted(outcome.instructions, "instruction") + " of " +
                          counted(outcome.threads, "thread") + windows_text(options, outcome) + " by stepping" +
                          (outcome.slowdown >= 10 ? ", " + rounded(outcome.slowdown) + " times slower" : ""));
  if (outcome.reached_limit)
    text += line("that is as many as --steps " + std::to_string(options.limits.most_steps) +
                 " allows; the program went on from there unrecorded");
  if (outcome.gaps != 0) text += line(counted(outcome.gaps, "gap") + ": see fathom snapshot stats");
  text += line("snapshot " + outcome.id->hex() + " in " + options.directory);
  const std::string id = outcome.id->hex().substr(0, 8);
  for (const snapshot::HeldLock& lock : outcome.locks) text += line(printable(held_lock_text(lock)));
  const std::string holder = outcome.locks.empty() ? "" : " --tid " + std::to_string(outcome.locks[0].holder);
  return text + line("next: fathom snapshot calls " + id + holder + "   (or functions, insns, syscalls, sunburst)");
}

std::string report_json(const StepOutcome& outcome) {
  std::string text;
  net::JsonWriter json(text);
  json.begin_object().key("snapshot_id");
  outcome.id ? json.string(outcome.id->hex()) : json.null();
  json.member("engine", "step").member("instructions", outcome.instructions).member("threads", outcome.threads);
  json.member("windows", outcome.windows).member("gaps", outcome.gaps).member("packet_bytes", outcome.packet_bytes);
  json.key("slowdown").real(outcome.slowdown);
  json.member("reached_limit", outcome.reached_limit);
  if (outcome.trace_id != Id<16>{}) json.member("trace_id", std::string_view(outcome.trace_id.hex()));
  if (!outcome.locks.empty()) json.member("lock_holder", outcome.locks[0].holder);
  json.end_object();
  return text + "\n";
}

std::string pt_taken_text(const snapshot::TakenSnapshot& taken) {
  const std::string id = taken.id.hex();
  std::string text =
      line("engine pt: recorded " + counted(taken.cost.packet_bytes, "byte") + " of packets; snapshot " + id);
  if (taken.cost.cpus_cut_short != 0)
    text += line("the rings of " + counted(taken.cost.cpus_cut_short, "CPU") + " did not reach back to its beginning");
  return text + line("next: fathom snapshot calls " + id.substr(0, 8) + "   (or functions, insns, syscalls, sunburst)");
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

Result<> write_report(const RecorderOptions& options, const std::string& json) {
  if (options.json_file.empty()) return {};
  const Fd file(::open(options.json_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  const std::string what = "cannot write " + options.json_file;
  return file.open() ? write_whole(file.get(), json, what) : system_error(what);
}

int exit_status_of(int wait_status) {
  constexpr int kSignalled = 128;
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : kSignalled + WTERMSIG(wait_status);
}

}  // namespace fathom
