// stepper_check: steps a command, decodes what came of it, and compares the two, address by address.
//
//   stepper_check DIRECTORY FUNCTION COMMAND...   prints
//   {"instructions":N,"decoded":N,"mismatches":N,"gaps":N,"first":"..."}
#include <sys/wait.h>

#include <cstdio>

#include "snapshot/record/step/from_function.h"
#include "snapshot/record/step/from_start.h"
#include "snapshot/record/step/record_command.h"
#include "snapshot/record/testing/flow_check.h"

namespace fathom::snapshot::step {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "stepper_check: %s\n", error.message.c_str());
  return 2;
}

int check(const std::string& path, const std::string& function, const std::vector<std::string>& command) {
  auto directory = SnapshotDirectory::open(path);
  if (!directory) return fail(directory.error());
  StepLog log;
  StepOutcome outcome;
  StepRequest request;
  request.command = command;
  request.limits.most_steps = 100'000'000;
  request.observer = [&](pid_t tid, uint64_t ip) { log[tid].push_back(ip); };
  request.written = [&](const StepOutcome& written) { outcome = written; };
  FromStart from_start;
  FromFunction from_function(function);
  StepTrigger& trigger = function.empty() ? static_cast<StepTrigger&>(from_start) : from_function;
  auto status = record_command(*directory, trigger, request);
  if (!status) return fail(status.error());
  if (!outcome.id) return fail(internal("nothing was recorded"));
  auto checked = check_flow(*directory, *outcome.id, log);
  if (!checked) return fail(checked.error());
  std::printf(
      "{\"snapshot_id\":\"%s\",\"instructions\":%lu,\"decoded\":%lu,\"threads\":%lu,\"mismatches\":%lu,"
      "\"errors\":%lu,\"gaps\":%lu,\"bytes\":%lu,\"wait_status\":%d,\"first\":\"%s\"}\n",
      outcome.id->hex().c_str(), outcome.instructions, checked->instructions, outcome.threads, checked->mismatches,
      checked->errors, outcome.gaps, outcome.packet_bytes, *status, checked->first.c_str());
  return checked->mismatches == 0 && checked->errors == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fathom::snapshot::step

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  return fathom::snapshot::step::check(argv[1], argv[2], {argv + 3, argv + argc});
}
