#include <chrono>
#include <thread>

#include "base/time.h"
#include "cli/api.h"
#include "cli/command.h"
#include "cli/demo_stage.h"
#include "cli/slowest.h"
#include "cli/text.h"
#include "cli/trace_text.h"
#include "cli/trace_tree.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kRows = 10;
constexpr uint64_t kAnswerPatienceNano = 30 * kNanosPerSecond;
constexpr uint64_t kArrivalPatienceNano = 5 * kNanosPerSecond;

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
      "services with a load generator; lets them run, and shows the slowest requests and one of them as a tree. Then "
      "it "
      "goes on until Ctrl-C, for you to ask more. Everything it made is removed at the end.",
      {},
      {{"--once", "", "show it and end, without waiting for Ctrl-C (which makes the exit status 130 here)"},
       {"--seconds", "N", "how long the shop runs before it is looked at", "20"},
       {"--app", "NAME", app_help(), demo_apps().front().name}},
      {{"fathom demo", "look around; it says which commands to try"},
       {"fathom demo --once --seconds 5", "a quick proof that everything works here"},
       {"fathom demo --app otel-shop", "the same with OpenTelemetry's SDK; needs Node"}}};
}

// Spans are found a moment after they ended: on their way are the agent's poll and the server's disk.
Result<boost::json::array> slowest_rows(const Api& api) {
  Target target("/api/v1/slowest");
  target.add("from", format_instant(0)).add("by", "trace");
  uint64_t give_up = now_monotonic_nano() + kArrivalPatienceNano;
  while (true) {
    Result<boost::json::array> rows = fetch_rows(api, target, kRows);
    bool over = !rows || !rows->empty() || now_monotonic_nano() >= give_up;
    if (over) return rows;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Result<> show(const std::string& http, const Context& context) {
  Api api(context.connect(http, kAnswerPatienceNano));
  Result<boost::json::array> rows = slowest_rows(api);
  if (!rows) return rows.error();
  if (rows->empty()) return internal("the shop ran, but no request of it was stored");
  std::string trace_id = text_of(rows->front(), "trace_id");
  Result<boost::json::value> trace = api.json(Target("/api/v1/traces/" + trace_id));
  if (!trace) return trace.error();
  context.out("\nThe slowest requests:\n\n" + slowest_table(*rows, false, context.columns));
  context.out("\nThe slowest one, as a tree:\n\n" +
              trace_text(build_trace_tree(*trace), {context.columns, context.colour, false, 200}));
  return {};
}

std::string next_commands(const Addresses& addresses) {
  return "\nThe shop goes on. In another terminal:\n\n"
         "  export FATHOM_URL=http://" +
         addresses.http +
         "\n"
         "  fathom slowest --service inventory --by span\n"
         "  fathom slowest --min-duration 100ms --format json\n"
         "  fathom services\n"
         "  fathom latency --service gateway\n"
         "  fathom trace TRACE_ID --attributes\n\n"
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
  return show(addresses.http, context);
}

// Ctrl-C is the ordinary end of this one.
Result<> play_on(DemoStage& stage, const Play& play, const Addresses& addresses, const Context& context) {
  Result<> started = stage.start_shop(play.app, addresses, 0);
  if (!started) return started;
  Result<bool> waited = stage.wait(play.seconds * kNanosPerSecond);
  if (!waited) return waited.error();
  if (!*waited) return {};
  Result<> shown = show(addresses.http, context);
  if (!shown) return shown;
  context.out(next_commands(addresses));
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
