// fathom capture: asks nodes for what threads did, and waits until the server has it.
#include <algorithm>

#include "base/ids.h"
#include "base/time.h"
#include "cli/api.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/joined.h"
#include "cli/node_flags.h"
#include "cli/sizes.h"
#include "cli/slowest.h"
#include "cli/table.h"
#include "cli/value_text.h"
#include "net/json_writer.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kMostCaptureNano = 60 * kNanosPerSecond;
constexpr uint64_t kLookAgainNano = kNanosPerSecond / 4;

CommandLine capture_line() {
  return {
      "fathom capture",
      "keep what the threads of a trace, a process or a service did",
      "The agents of all hosts hold the last seconds of their programs' events and scheduling in memory. "
      "This makes them keep it and send it to the server, where 'fathom timeline' shows it. A trace is asked for at "
      "every node; without --duration as long as its spans lasted. The command waits until the server has all that "
      "was captured. The exit status is 1 where no node had anything.",
      {},
      join({{{"--trace", "ID", "the threads that served this trace"}},
            node_flags(),
            {{"--duration", "D", "the last D of it, 60s at most (default: 5s; of a trace, what its spans last)"},
             {"--ahead", "",
              "the next D, not the last: waits for them. Of such windows agents have the system calls, "
              "which they otherwise record only with --kernel-events traced"},
             {"--reason", "TEXT", "why, for those who find the capture later"},
             format_flag("text")},
            connection_flags()}),
      {{"fathom capture --trace 4bf92f3577b34da6a3ce929d0e0e4736", "all that is still known of one request"},
       {"fathom capture --pid 4711 --node db-1 --duration 2s", "the last two seconds of a process"},
       {"fathom capture --service checkout --ahead --duration 10s", "what a service does in the next ten seconds"}}};
}

struct CaptureAsk {
  NodeChoice choice;
  std::string trace;
  uint64_t duration_nano = 0;
  bool ahead = false;
  std::string reason;
};

Result<std::string> trace_of(const Args& args) {
  std::optional<std::string> text = args.given("--trace");
  if (!text) return std::string();
  auto id = TraceId::from_hex_text(*text);
  if (!id || id->is_zero()) return invalid("--trace: " + not_an_id(*text, "a trace id", 32).message);
  return id->hex();
}

Result<uint64_t> capture_duration(const Args& args) {
  if (!args.given("--duration")) return uint64_t{0};
  Result<uint64_t> duration = args.duration_nano("--duration");
  if (!duration) return duration;
  if (*duration == 0 || *duration > kMostCaptureNano) return invalid("--duration: more than nothing, and 60s at most");
  return duration;
}

Result<CaptureAsk> read_capture_ask(const Args& args) {
  Result<NodeChoice> choice = node_choice(args);
  Result<std::string> trace = trace_of(args);
  Result<uint64_t> duration = capture_duration(args);
  if (!choice) return choice.error();
  if (!trace) return trace.error();
  if (!duration) return duration.error();
  int given = int{!trace->empty()} + int{choice->pid != 0} + int{!choice->service.empty()};
  if (given != 1) return invalid("say whose threads: one of --trace, --pid and --service");
  return CaptureAsk{*std::move(choice), *std::move(trace), *duration, args.has("--ahead"), args.get("--reason")};
}

std::string body_of(const CaptureAsk& ask) {
  std::string body;
  net::JsonWriter json(body);
  json.begin_object();
  if (!ask.trace.empty()) json.member("trace_id", ask.trace);
  if (ask.choice.pid != 0) json.member("pid", ask.choice.pid);
  if (!ask.choice.service.empty()) json.member("service", ask.choice.service);
  if (!ask.choice.node.empty()) json.member("node", ask.choice.node);
  if (ask.duration_nano != 0) json.member("duration_nano", ask.duration_nano);
  if (ask.ahead) json.member("ahead", true);
  if (!ask.reason.empty()) json.member("reason", ask.reason);
  json.end_object();
  return body;
}

std::string asking(const CaptureAsk& ask) {
  std::string where = ask.choice.node.empty() ? "all nodes" : "node " + printable(ask.choice.node);
  if (!ask.ahead) return "asking " + where + "\n";
  uint64_t duration = ask.duration_nano == 0 ? 5 * kNanosPerSecond : ask.duration_nano;
  return "asking " + where + "; this takes " + format_duration(duration) + "\n";
}

// What became of one capture, as far as is known.
struct Kept {
  std::string id;
  std::string host_name;
  boost::json::value stored;  // the server's words; null while it has none
};

std::vector<Kept> captures_of(const boost::json::array& nodes) {
  std::vector<Kept> captures;
  for (const boost::json::value& node : nodes) {
    for (const boost::json::value& id : array_of(node, "captures")) {
      if (id.is_string()) captures.push_back({std::string(id.get_string()), text_of(node, "host_name"), {}});
    }
  }
  return captures;
}

// Looks once, and says when it is there. True: it is not yet.
Result<bool> is_missing(const Api& api, const Context& context, Kept& capture) {
  if (!capture.stored.is_null()) return false;
  Result<boost::json::value> stored = api.json(Target("/api/v1/captures/" + net::percent_encode(capture.id)));
  if (!stored && stored.error().code == ErrorCode::kNotFound) return true;
  if (!stored) return stored.error();
  context.err("stored: " + printable(capture.id) + " of " + printable(capture.host_name) + "\n");
  capture.stored = *std::move(stored);
  return false;
}

// Looks until all are stored; false when they are not in time. A server that refuses one look (too many queries) may
// take the next: nodes go on sending meanwhile.
Result<bool> wait_until_stored(const Api& api, const Context& context, uint64_t patience_nano,
                               std::vector<Kept>& captures) {
  for (uint64_t waited = 0;; waited += kLookAgainNano) {
    size_t missing = 0;
    std::string refusal;
    for (Kept& capture : captures) {
      Result<bool> is_not_there = is_missing(api, context, capture);
      if (!is_not_there && is_not_there.error().code != ErrorCode::kInternal) return is_not_there.error();
      if (!is_not_there) refusal = is_not_there.error().message;
      missing += !is_not_there || *is_not_there ? 1 : 0;
    }
    if (missing == 0) return true;
    if (waited >= patience_nano) {
      if (!refusal.empty()) context.err(refusal + "\n");
      return false;
    }
    if (waited == 0) context.err("waiting for " + std::to_string(missing) + " of them to be stored\n");
    context.sleep(kLookAgainNano);
  }
}

std::string kept_table(const std::vector<Kept>& captures, size_t columns) {
  Table table({{"CAPTURE"},
               {"HOST", Align::kLeft, true},
               {"SERVICE", Align::kLeft, true},
               {"PID", Align::kRight},
               {"SIZE", Align::kRight}});
  for (const Kept& capture : captures) {
    bool stored = !capture.stored.is_null();
    table.add({capture.id, name_text(capture.host_name), stored ? name_text(text_of(capture.stored, "service")) : "?",
               stored ? std::to_string(number_of(capture.stored, "pid")) : "?",
               stored ? format_size(number_of(capture.stored, "size_bytes")) : "not yet"});
  }
  return table.render(columns);
}

std::string next_after_capture(const CaptureAsk& ask, const std::vector<Kept>& captures) {
  auto size = [](const Kept& capture) { return number_of(capture.stored, "size_bytes"); };
  const Kept& best = *std::ranges::max_element(captures, {}, size);
  std::string id = !ask.trace.empty() ? ask.trace : text_of(best.stored, "trace_id");
  return "next: fathom timeline " + printable(id.empty() ? best.id : id) + "\n";
}

std::string nothing_captured(const CaptureAsk& ask, const boost::json::array& nodes) {
  std::string text = "nothing was captured\n" + node_notes(nodes, "skipped") + node_notes(nodes, "failure");
  if (!ask.trace.empty()) {
    return text + "flight recorders hold some seconds: a trace must be asked for soon after it ended\n";
  }
  if (nodes.empty()) return text + "no agent is connected to this server; see fathom nodes\n";
  return text +
         "agents have programs that use fathom's client and found the agent's socket (fathom doctor); 'fathom "
         "services' lists names, 'fathom nodes' the agents\n";
}

ExitCode show(const CaptureAsk& ask, const Args& args, const Context& context, const Api& api,
              const boost::json::array& nodes) {
  std::vector<Kept> captures = captures_of(nodes);
  if (captures.empty()) {
    context.err(nothing_captured(ask, nodes));
    return ExitCode::kNothingFound;
  }
  context.err(node_notes(nodes, "failure"));
  Result<uint64_t> patience = args.duration_nano("--timeout");
  if (!patience) return failed(context, patience.error());
  Result<bool> stored = wait_until_stored(api, context, *patience, captures);
  if (args.get("--format") == "text") context.out(kept_table(captures, context.columns));
  if (!stored) return failed(context, stored.error());
  if (!*stored) context.err("not all are stored yet; nodes go on sending\n");
  context.err(next_after_capture(ask, captures));
  return ExitCode::kOk;
}

ExitCode run_capture(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "text");
  if (!format) return failed(context, format.error());
  Result<CaptureAsk> ask = read_capture_ask(args);
  if (!ask) return failed(context, ask.error());
  Result<Api> api = connect(args, context, ask->ahead ? kMostCaptureNano : 0);
  if (!api) return failed(context, api.error());
  context.err(asking(*ask));
  Result<boost::json::value> answer = api->post(Target("/api/v1/captures"), body_of(*ask));
  if (!answer) return failed(context, answer.error());
  const boost::json::array& nodes = array_of(*answer, "nodes");
  ExitCode code = show(*ask, args, context, *api, nodes);
  if (*format == "json") context.out(rows_json(nodes));
  return code;
}

}  // namespace

const Command& capture_command() {
  static const Command kCommand{capture_line(), run_capture};
  return kCommand;
}

}  // namespace fathom::cli
