#include "base/time.h"
#include "cli/command.h"
#include "cli/demo_record.h"
#include "cli/demo_show.h"
#include "cli/demo_stage.h"
#include "cli/page_link.h"

namespace fathom::cli {

namespace {

std::string app_help() {
  std::string text;
  for (const DemoApp& app : demo_apps()) text += (text.empty() ? "" : "; ") + app.name + ": " + app.summary;
  return text;
}

CommandLine demo_line() {
  return {
      "fathom demo",
      "a small shop, traced, and its slowest requests",
      "Starts a server and an agent of its own on free ports with their data in a temporary directory, and three small "
      "services with a load generator; lets them run, and shows the slowest requests, one of them as a tree, and what "
      "the threads of one did; then records one of a second shop down to its instructions. Then it goes on until "
      "Ctrl-C, for you to ask more. Everything it made is removed at the "
      "end.",
      {},
      {{"--once", "", "show it and end, without waiting for Ctrl-C (which makes the exit status 130 here)"},
       {"--seconds", "N", "how long the shop runs before it is looked at", "20"},
       {"--app", "NAME", app_help(), demo_apps().front().name},
       {"--no-record", "", "without the last act, the recording of a request's instructions"}},
      {{"fathom demo", "look around; it says which commands to try"},
       {"fathom demo --once --seconds 5", "a quick proof that everything works here"},
       {"fathom demo --app otel-shop", "the same with OpenTelemetry's SDK; needs Node"}}};
}

// Who started us by a path may not have us by name.
std::string path_command(const Context& context) {
  const std::string directory = context.executable.substr(0, context.executable.rfind('/'));
  const std::string path = ":" + context.env("PATH").value_or("") + ":";
  return path.find(":" + directory + ":") != std::string::npos ? "" : "  export PATH=" + directory + ":$PATH\n";
}

std::string request_commands(const ShownRequest& shown) {
  const std::string& trace_id = shown.trace_id;
  return "  fathom slowest --captured\n"
         "  fathom slowest --service inventory --by span\n"
         "  fathom slowest --min-duration 100ms --format json\n"
         "  fathom services\n"
         "  fathom latency --service gateway\n"
         "  fathom trace " +
         trace_id +
         " --attributes\n"
         "  fathom captures\n"
         "  fathom timeline " +
         trace_id +
         "\n"
         "  fathom timeline " +
         trace_id + " --all     # and what the other threads did meanwhile" +
         (shown.waited_for_lock ? ": who held the lock\n" : "\n") + "  fathom export --perfetto slow.pftrace " +
         trace_id + "\n";
}

std::string snapshot_commands(const std::optional<RecordedRequest>& recorded) {
  if (!recorded) {
    return "\nDown to the instructions, of any program (single steps where there is no Intel PT: slow, and it says "
           "so):\n\n"
           "  fathom record --span 'shelves.*' --min-duration 10ms --threads all -- shop run --seconds 20\n"
           "  fathom snapshot calls last\n";
  }
  const std::string id = recorded->snapshot_id;
  const std::string tid = recorded->lock_holder.empty() ? "" : " --tid " + recorded->lock_holder;
  return "\nDown to the instructions, of the request that was recorded in the second shop:\n\n"
         "  export FATHOM_SNAPSHOTS=" +
         recorded->directory + "\n" +
         (recorded->trace_id.empty() ? "" : "  fathom trace " + recorded->trace_id + "   # it names its snapshot\n") +
         "  fathom snapshot calls " + id + tid + " --source   # the calls" +
         (tid.empty() ? "" : " of the thread that held the lock") +
         ", and the lines of source that made them\n"
         "  fathom snapshot insns " +
         id + tid +
         " --source --inlines | less   # instruction by instruction\n"
         "  fathom snapshot functions " +
         id + tid + "\n";
}

std::string in_browser(const Addresses& addresses, const std::optional<RecordedRequest>& recorded,
                       const Context& context) {
  const std::string page = "http://" + addresses.http + "/";
  std::string text = "\nThe shop goes on. In a browser:\n\n  " + local_page_link(context, page) + "\n";
  if (!recorded || recorded->trace_id.empty()) return text;
  const bool has_lock = !recorded->lock_holder.empty();
  return text + "  " + page + "trace/" + recorded->trace_id +
         (has_lock ? "   # recorded; key i: the line that held the lock\n" : "   # recorded\n");
}

std::string next_commands(const Addresses& addresses, const ShownRequest& shown,
                          const std::optional<RecordedRequest>& recorded, const Context& context) {
  return in_browser(addresses, recorded, context) + "\nIn another terminal:\n\n" + path_command(context) +
         "  export FATHOM_URL=http://" + addresses.http + "\n  export FATHOM_AGENT_SOCKET=" + addresses.agent_socket +
         "\n" + request_commands(shown) + snapshot_commands(recorded) +
         "\nPrograms of your own can send their spans here too, with fathom's client or with OpenTelemetry's SDK:\n\n"
         "  ./my-program\n"
         "  OTEL_EXPORTER_OTLP_ENDPOINT=http://" +
         addresses.otlp_http +
         " OTEL_SERVICE_NAME=mine ./my-program\n\n"
         "Ctrl-C ends the demo and removes what it made.\n";
}

struct Play {
  const DemoApp& app;
  bool once;
  uint64_t seconds;
  bool record;  // the instructions of a request, too
};

// Not every host lets programs be recorded, and the rest of the demo is worth seeing there, too.
Result<std::optional<RecordedRequest>> play_recording(DemoStage& stage, const Play& play, const Addresses& addresses,
                                                      const Context& context) {
  if (!play.record) return std::optional<RecordedRequest>();
  Result<RecordedRequest> recorded = record_request(stage, addresses, context);
  Result<> shown = recorded ? show_recorded(*recorded, context) : Result<>(recorded.error());
  if (shown) return std::optional(*recorded);
  if (shown.error().code == ErrorCode::kCancelled) return shown.error();
  context.err("no instructions were recorded here: " + shown.error().message + "\n");
  return std::optional<RecordedRequest>();
}

Result<> play_once(DemoStage& stage, const Play& play, const Addresses& addresses, const Context& context) {
  Result<> started = stage.start_shop(play.app, addresses, play.seconds);
  if (!started) return started;
  Result<> ended = stage.wait_for_shop();
  if (!ended) return ended;
  Result<ShownRequest> shown = show_slowest(addresses.http, context);
  if (!shown) return shown.error();
  auto recorded = play_recording(stage, play, addresses, context);
  if (!recorded) return recorded.error();
  return {};
}

// Ctrl-C is the ordinary end of this one.
Result<> play_on(DemoStage& stage, const Play& play, const Addresses& addresses, const Context& context) {
  Result<> started = stage.start_shop(play.app, addresses, 0);
  if (!started) return started;
  Result<bool> waited = stage.wait(play.seconds * kNanosPerSecond);
  if (!waited) return waited.error();
  if (!*waited) return {};
  Result<ShownRequest> shown = show_slowest(addresses.http, context);
  if (!shown) return shown.error();
  auto recorded = play_recording(stage, play, addresses, context);
  if (!recorded) return recorded.error().code == ErrorCode::kCancelled ? Result<>() : recorded.error();
  context.out(next_commands(addresses, *shown, *recorded, context));
  Result<bool> more = stage.wait(UINT64_MAX);
  if (!more) return more.error();
  return {};
}

Result<> play_all(DemoStage& stage, const Play& play, const Context& context) {
  Result<Addresses> addresses = stage.start_server();
  if (!addresses) return addresses.error();
  Result<> prepared = stage.prepare_shop(play.app);
  if (!prepared) return prepared;
  context.err("a server is at http://" + addresses->http + "; the shop runs for " + std::to_string(play.seconds) +
              " s ...\n");
  return play.once ? play_once(stage, play, *addresses, context) : play_on(stage, play, *addresses, context);
}

ExitCode run_demo(const Args& args, const Context& context) {
  Result<uint64_t> seconds = args.number("--seconds", 1, 86'400);
  if (!seconds) return failed(context, seconds.error());
  Result<std::string> app = args.one_of("--app", demo_app_names());
  if (!app) return failed(context, app.error());
  Signals signals;
  DemoStage stage(context, signals);
  const DemoApp& chosen = demo_app(*app);
  const Play play{chosen, args.has("--once"), *seconds, chosen.recordable && !args.has("--no-record")};
  Result<> played = play_all(stage, play, context);
  stage.stop();
  if (played) return ExitCode::kOk;
  bool by_person = played.error().code == ErrorCode::kCancelled;
  if (!by_person) return failed_here(context, played.error());
  return play.once ? ExitCode::kInterrupted : ExitCode::kOk;
}

}  // namespace

const Command& demo_command() {
  static const Command kCommand{demo_line(), run_demo};
  return kCommand;
}

}  // namespace fathom::cli
