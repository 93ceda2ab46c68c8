#include "base/time.h"
#include "cli/command.h"
#include "cli/demo_show.h"
#include "cli/demo_stage.h"

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
      "the threads of one did. Then it goes on until Ctrl-C, for you to ask more. Everything it made is removed at the "
      "end.",
      {},
      {{"--once", "", "show it and end, without waiting for Ctrl-C (which makes the exit status 130 here)"},
       {"--seconds", "N", "how long the shop runs before it is looked at", "20"},
       {"--app", "NAME", app_help(), demo_apps().front().name}},
      {{"fathom demo", "look around; it says which commands to try"},
       {"fathom demo --once --seconds 5", "a quick proof that everything works here"},
       {"fathom demo --app otel-shop", "the same with OpenTelemetry's SDK; needs Node"}}};
}

std::string next_commands(const Addresses& addresses, const std::string& trace_id) {
  return "\nThe shop goes on. In another terminal:\n\n"
         "  export FATHOM_URL=http://" +
         addresses.http +
         "\n"
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
         trace_id +
         " --all     # and what the other threads did meanwhile: who held the lock\n"
         "  fathom export --perfetto slow.pftrace " +
         trace_id +
         "\n\n"
         "Down to the instructions: a second shop, recorded while a request of it waits (single steps: slow, and it "
         "says so):\n\n"
         "  export FATHOM_AGENT_SOCKET=" +
         addresses.agent_socket +
         "\n"
         "  fathom record --span shelves.look --min-duration 10ms --threads all -- shop run --seconds 20\n"
         "  fathom snapshot calls last     # who held the lock meanwhile, and in which calls\n"
         "  fathom snapshot insns last     # instruction by instruction, with its line of source\n\n"
         "Programs of your own can send their spans here too, with fathom's client or with OpenTelemetry's SDK:\n\n"
         "  FATHOM_AGENT_SOCKET=" +
         addresses.agent_socket +
         " ./my-program\n"
         "  OTEL_EXPORTER_OTLP_ENDPOINT=http://" +
         addresses.otlp_http +
         " OTEL_SERVICE_NAME=mine ./my-program\n\n"
         "Ctrl-C ends the demo and removes what it made.\n";
}

struct Play {
  const DemoApp& app;
  bool once;
  uint64_t seconds;
};

Result<> play_once(DemoStage& stage, const Play& play, const Addresses& addresses, const Context& context) {
  Result<> started = stage.start_shop(play.app, addresses, play.seconds);
  if (!started) return started;
  Result<> ended = stage.wait_for_shop();
  if (!ended) return ended;
  Result<std::string> shown = show_slowest(addresses.http, context);
  if (!shown) return shown.error();
  return {};
}

// Ctrl-C is the ordinary end of this one.
Result<> play_on(DemoStage& stage, const Play& play, const Addresses& addresses, const Context& context) {
  Result<> started = stage.start_shop(play.app, addresses, 0);
  if (!started) return started;
  Result<bool> waited = stage.wait(play.seconds * kNanosPerSecond);
  if (!waited) return waited.error();
  if (!*waited) return {};
  Result<std::string> shown = show_slowest(addresses.http, context);
  if (!shown) return shown.error();
  context.out(next_commands(addresses, *shown));
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
  const Play play{demo_app(*app), args.has("--once"), *seconds};
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
