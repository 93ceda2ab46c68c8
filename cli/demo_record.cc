#include "cli/demo_record.h"

#include <fcntl.h>

#include <boost/json.hpp>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/time.h"
#include "cli/api.h"
#include "cli/demo_app.h"
#include "cli/places.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

constexpr const char* kSeconds = "8";  // of load; the fault shows every second
// So few that the first one that waits for the lock is the one that waits longest, and whoever asks for the slowest
// request finds the recorded one.
constexpr const char* kRate = "25";
constexpr uint64_t kSteps = 40'000;  // a second or so
// Of fewer, the lock was nearly free when recording began, and what was slow under it is not to be seen.
constexpr uint64_t kFewSteps = kSteps / 4;
constexpr const char* kShownCalls = "14";
constexpr int kTries = 3;  // on a busy machine a request may be slow for want of a processor, and not for the lock
constexpr uint64_t kWorkerTimeoutNano = 30 * kNanosPerSecond;

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

struct RecordingFiles {
  explicit RecordingFiles(const std::string& scratch)
      : snapshots(scratch + "/snapshots"), outcome(scratch + "/recorded.json"), log(scratch + "/recorded.log") {}
  std::string snapshots;
  std::string outcome;
  std::string log;
};

Result<std::vector<std::string>> recording_command(const Context& context, const RecordingFiles& files,
                                                   const std::string& scratch) {
  Result<std::string> recorder = sibling_program(context, "fathom-recorder");
  if (!recorder) return recorder.error();
  Result<std::string> shop = shop_program(context);
  if (!shop) return shop.error();
  return std::vector<std::string>{*recorder,
                                  "--span=shelves.*",
                                  "--min-duration=10ms",
                                  "--threads=all",
                                  "--steps=" + std::to_string(kSteps),
                                  "--directory=" + files.snapshots,
                                  "--json=" + files.outcome,
                                  "--",
                                  *shop,
                                  "run",
                                  "--seconds",
                                  kSeconds,
                                  "--rate",
                                  kRate,
                                  "--directory",
                                  scratch};
}

Result<> run_recording(DemoStage& stage, const std::vector<std::string>& command, const std::string& socket,
                       const std::string& http, const std::string& log) {
  Fd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.open()) return system_error("cannot write '" + log + "'");
  ChildOptions options;
  options.command = command;
  options.descriptors = {{1, file.get()}, {2, file.get()}};
  options.environment = {{"FATHOM_AGENT_SOCKET", socket}, {"FATHOM_URL", "http://" + http}};
  Result<int> status = stage.run(options);
  if (!status) return status.error();
  if (*status != 0) return Error{ErrorCode::kUnavailable, last_line(content_of(log))};
  return {};
}

// Why the demo looks for another one; empty when this one shows what held the lock.
std::string_view shortcoming(const RecordedRequest& recorded) {
  if (recorded.lock_holder.empty()) return "that one did not wait for the lock";
  if (recorded.instructions < kFewSteps) return "that one had the lock too soon";
  return {};
}

Result<RecordedRequest> read_outcome(const RecordingFiles& files) {
  boost::system::error_code error;
  const boost::json::value outcome = boost::json::parse(content_of(files.outcome), error);
  RecordedRequest recorded{text_of(outcome, "snapshot_id"), text_of(outcome, "trace_id"), "", files.snapshots};
  if (error || recorded.snapshot_id.empty()) return Error{ErrorCode::kUnavailable, last_line(content_of(files.log))};
  if (!flag_of(outcome, "pushed"))
    return Error{ErrorCode::kUnavailable, "the server has no snapshot of it: " + last_line(content_of(files.log))};
  // The thread at the end of the chain of holders, which explains the wait.
  const uint64_t blocking = number_of(outcome, "blocking_thread");
  const uint64_t holder = blocking != 0 ? blocking : number_of(outcome, "lock_holder");
  if (holder != 0) recorded.lock_holder = std::to_string(holder);
  recorded.instructions = number_of(outcome, "instructions");
  return recorded;
}

Result<RecordedRequest> record_once(DemoStage& stage, const std::vector<std::string>& command,
                                    const Addresses& addresses, const RecordingFiles& files) {
  Result<> ran = run_recording(stage, command, addresses.agent_socket, addresses.http, files.log);
  if (!ran) return ran.error();
  return read_outcome(files);
}

}  // namespace

Result<RecordedRequest> record_request(DemoStage& stage, const Addresses& addresses, const Context& context) {
  const RecordingFiles files(stage.directory());
  auto command = recording_command(context, files, stage.directory());
  if (!command) return command.error();
  context.err("recording the instructions of one slow request, in a second shop ...\n");
  Result<RecordedRequest> recorded = record_once(stage, *command, addresses, files);
  for (int tried = 1; recorded && !shortcoming(*recorded).empty() && tried < kTries; ++tried) {
    context.err(std::string(shortcoming(*recorded)) + "; recording another ...\n");
    recorded = record_once(stage, *command, addresses, files);
  }
  return recorded;
}

Result<> show_recorded(const RecordedRequest& recorded, const Context& context) {
  Result<std::string> worker = sibling_program(context, "fathom-worker");
  if (!worker) return worker.error();
  std::vector<std::string> command{*worker, "--directory", recorded.directory, "--limit", kShownCalls};
  if (!recorded.lock_holder.empty()) command.insert(command.end(), {"--tid", recorded.lock_holder});
  if (auto shop = example_directory(context, "shop")) command.push_back("--source-dir=" + *shop);
  command.insert(command.end(), {"calls", recorded.snapshot_id});
  Result<std::string> calls = run_and_capture(command, kWorkerTimeoutNano);
  if (!calls) return calls.error();
  const std::string whose = recorded.lock_holder.empty() ? "" : ", of the thread that held the lock";
  context.out("\nDown to the instructions" + whose +
              " (fathom record --span 'shelves.*' --min-duration 10ms --threads all -- shop run; fathom snapshot "
              "calls --source):\n\n" +
              *calls);
  return {};
}

}  // namespace fathom::cli
