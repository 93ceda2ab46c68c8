// fathom-store: checks, repairs and purges a data directory that no server uses. `fathom store` is its name for people.
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/store/other_files.h"
#include "apps/store/report.h"
#include "base/log.h"
#include "base/time.h"
#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/purge_text.h"
#include "cli/sizes.h"
#include "cli/store.h"
#include "query/conditions.h"
#include "query/purge/purge_data.h"
#include "store/verify/repair.h"
#include "store/verify/verify.h"

namespace fathom {
namespace {

using cli::ExitCode;

constexpr const char* kProgram = "fathom-store";
// A check that takes long says how far it is.
constexpr uint64_t kPauseNano = 2 * kNanosPerSecond;

void say(const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

int fail(ExitCode code, const std::string& message) {
  say("fathom store: " + message + "\n");
  return static_cast<int>(code);
}

store::Findings::Progress progress_on_standard_error() {
  return [next = now_monotonic_nano() + kPauseNano](uint64_t done, uint64_t total) mutable {
    if (total == 0 || now_monotonic_nano() < next) return;
    next = now_monotonic_nano() + kPauseNano;
    say("fathom store: " +
        std::to_string(static_cast<uint64_t>(100.0 * static_cast<double>(done) / static_cast<double>(total))) +
        " % of " + cli::format_size(total) + "\n");
  };
}

int finish(StoreVerb verb, const cli::Args& args, const store::Findings& findings, const std::string& to = "") {
  const std::string& directory = args.positional(0);
  const auto report = args.has("--json") ? store_report_json : store_report_text;
  std::fputs(report(verb, findings, directory, to).c_str(), stdout);
  return static_cast<int>(findings.intact() ? ExitCode::kOk : ExitCode::kDataUnusable);
}

int verify(const cli::Args& args) {
  const std::string& directory = args.positional(0);
  store::Findings findings(progress_on_standard_error());
  findings.expect_bytes(snapshot_bytes(directory));
  if (Result<> verified = store::verify_store(directory, findings); !verified) {
    return fail(ExitCode::kLocalFailure, verified.error().message);
  }
  check_other_files(directory, findings);
  return finish(StoreVerb::kVerify, args, findings);
}

// The status of the run that made the directory.
int report_earlier(store::RepairOutcome outcome, const std::string& to) {
  const char* lost = outcome == store::RepairOutcome::kWasRepairedWithLoss
                         ? "; something was lost, and the new server reports it"
                     : outcome == store::RepairOutcome::kWasRepairedByOlderProgram
                         ? "; an older fathom did not record whether something was lost"
                         : "; nothing was lost";
  say("fathom store: " + to + " was repaired before and is left as it is" + lost + "\n");
  const bool has_loss = outcome == store::RepairOutcome::kWasRepairedWithLoss;
  return static_cast<int>(has_loss ? ExitCode::kDataUnusable : ExitCode::kOk);
}

int repair(const cli::Args& args) {
  const std::string& from = args.positional(0);
  const std::string to = std::filesystem::path(args.positional(1)).lexically_normal();
  store::RepairRequest request{.from = from, .to = to.ends_with('/') ? to.substr(0, to.size() - 1) : to};
  request.more_bytes = snapshot_bytes(from);
  request.copy_more = [&](const std::string& directory, store::Findings& findings) {
    return copy_other_files(from, directory, findings);
  };
  Result<std::optional<store::RepairOutcome>> earlier = store::earlier_repair(request);
  if (!earlier) return fail(ExitCode::kLocalFailure, earlier.error().message);
  if (*earlier) return report_earlier(**earlier, to);
  Result<store::RepairSpace> space = store::repair_space(request);
  if (!space) return fail(ExitCode::kLocalFailure, space.error().message);
  say("fathom store: needs at most " + cli::format_size(space->needed_bytes) + "; " +
      cli::format_size(space->free_bytes) + " are free\n");
  if (!space->is_enough()) return fail(ExitCode::kLocalFailure, "the file system of " + to + " has too little space");
  store::Findings findings(progress_on_standard_error());
  Result<store::RepairOutcome> repaired = store::repair_store(request, findings);
  if (!repaired) return fail(ExitCode::kLocalFailure, repaired.error().message);
  if (*repaired == store::RepairOutcome::kRepaired) return finish(StoreVerb::kRepair, args, findings, request.to);
  return report_earlier(*repaired, to);
}

Result<std::vector<store::Condition>> conditions_of(const cli::Args& args) {
  std::vector<store::Condition> conditions;
  for (const std::string& text : args.all("--where")) {
    Result<store::Condition> condition = query::parse_condition(text);
    if (!condition) return invalid("--where: " + condition.error().message);
    conditions.push_back(*std::move(condition));
  }
  if (conditions.empty()) return invalid("what is to be purged? Give a condition, like --where user.id=4711");
  return conditions;
}

int purge(const cli::Args& args) {
  Result<std::vector<store::Condition>> where = conditions_of(args);
  if (!where) return fail(ExitCode::kUsage, where.error().message);
  query::DataPurge purge{.directory = args.positional(0), .where = *std::move(where)};
  purge.dry_run = args.has("--dry-run");
  Result<query::PurgeCounts> counts = query::purge_data(purge, progress_on_standard_error());
  if (!counts) return fail(ExitCode::kLocalFailure, counts.error().message);
  const std::string json = to_json(*counts);
  const boost::json::value purged = boost::json::parse(json);
  std::fputs((args.has("--json") ? json + "\n" : cli::purge_text(purged, purge.dry_run)).c_str(), stdout);
  return static_cast<int>(cli::purge_exit_code(purged));
}

struct Verb {
  const char* name;
  cli::CommandLine (*line)(const std::string& program);
  int (*run)(const cli::Args& args);
};
constexpr Verb kVerbs[] = {{"verify", cli::store_verify_line, verify},
                           {"repair", cli::store_repair_line, repair},
                           {"purge", cli::store_purge_line, purge}};

std::string group_help() {
  std::vector<cli::CommandLine> lines;
  for (const Verb& verb : kVerbs) lines.push_back(verb.line(kProgram));
  return cli::group_help(cli::store_group_line(kProgram), lines);
}

int run(const Verb& verb, const std::vector<std::string>& words) {
  const cli::CommandLine line = verb.line(kProgram);
  Result<cli::Args> args = cli::parse_args(line, words);
  if (!args) return fail(ExitCode::kUsage, args.error().message);
  if (!args->wants_help()) return verb.run(*args);
  std::fputs(cli::command_help(line).c_str(), stdout);
  return 0;
}

int run(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--version"}) {
    std::puts("fathom-store " FATHOM_VERSION);
    return 0;
  }
  if (words.empty() || words.front() == "--help" || words.front() == "-h") {
    std::fputs(group_help().c_str(), words.empty() ? stderr : stdout);
    return static_cast<int>(words.empty() ? ExitCode::kUsage : ExitCode::kOk);
  }
  for (const Verb& verb : kVerbs) {
    if (words.front() == verb.name) return run(verb, {words.begin() + 1, words.end()});
  }
  return fail(ExitCode::kUsage, "unknown command '" + words.front() + "'; see fathom-store --help");
}

}  // namespace
}  // namespace fathom

int main(int argc, char** argv) {
  ::umask(S_IRWXG | S_IRWXO);  // what it stores is for its own user
  return fathom::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
