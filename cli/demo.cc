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

CommandLine demo_line() {
  return {
      "fathom demo",
      "a small shop, traced, and its slowest requests",
      "Starts a server of its own on free ports with its data in a temporary directory, and three small Node services "
      "under OpenTelemetry's SDK with a load generator; lets them run, and shows the slowest requests and one of them "
      "as a tree. Then it goes on until Ctrl-C, for you to ask more. Everything it made is removed at the end.",
      {},
      {{"--once", "", "show it and end, without waiting for Ctrl-C (which makes the exit status 130 here)"},
       {"--seconds", "N", "how long the shop runs before it is looked at", "20"}},
      {{"fathom demo", "look around; it says which commands to try"},
       {"fathom demo --once --seconds 5", "a quick proof that everything works here"}}};
}

Result<> show(const std::string& http, const Context& context) {
  Api api(context.connect(http, kAnswerPatienceNano));
  Target target("/api/v1/slowest");
  target.add("from", format_instant(0)).add("by", "trace");
  Result<boost::json::array> rows = fetch_rows(api, target, kRows);
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
         "Programs of your own can send their spans here too:\n\n"
         "  OTEL_EXPORTER_OTLP_ENDPOINT=http://" +
         addresses.otlp_http +
         " OTEL_SERVICE_NAME=mine ./my-program\n\n"
         "Ctrl-C ends the demo and removes what it made.\n";
}

Result<> play_once(DemoStage& stage, const Addresses& addresses, uint64_t seconds, const Context& context) {
  Result<> started = stage.start_shop(addresses.otlp_http, seconds);
  if (!started) return started;
  Result<> ended = stage.wait_for_shop();
  if (!ended) return ended;
  return show(addresses.http, context);
}

// Ctrl-C is the ordinary end of this one.
Result<> play_on(DemoStage& stage, const Addresses& addresses, uint64_t seconds, const Context& context) {
  Result<> started = stage.start_shop(addresses.otlp_http, 0);
  if (!started) return started;
  Result<bool> waited = stage.wait(seconds * kNanosPerSecond);
  if (!waited) return waited.error();
  if (!*waited) return {};
  Result<> shown = show(addresses.http, context);
  if (!shown) return shown;
  context.out(next_commands(addresses));
  Result<bool> more = stage.wait(UINT64_MAX);
  if (!more) return more.error();
  return {};
}

Result<> play(DemoStage& stage, bool once, uint64_t seconds, const Context& context) {
  Result<Addresses> addresses = stage.start_server();
  if (!addresses) return addresses.error();
  Result<> prepared = stage.prepare_shop();
  if (!prepared) return prepared;
  context.err("a server is at http://" + addresses->http + "; the shop runs for " + std::to_string(seconds) +
              " s ...\n");
  return once ? play_once(stage, *addresses, seconds, context) : play_on(stage, *addresses, seconds, context);
}

ExitCode run_demo(const Args& args, const Context& context) {
  Result<uint64_t> seconds = args.number("--seconds", 1, 86'400);
  if (!seconds) return failed(context, seconds.error());
  Signals signals;
  DemoStage stage(context, signals);
  bool once = args.has("--once");
  Result<> played = play(stage, once, *seconds, context);
  stage.stop();
  if (played) return ExitCode::kOk;
  bool by_person = played.error().code == ErrorCode::kCancelled;
  if (!by_person) return failed_here(context, played.error());
  return once ? ExitCode::kInterrupted : ExitCode::kOk;
}

}  // namespace

const Command& demo_command() {
  static const Command kCommand{demo_line(), run_demo};
  return kCommand;
}

}  // namespace fathom::cli
