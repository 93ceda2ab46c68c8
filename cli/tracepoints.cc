// fathom tracepoints: which places of programs can record events, and which do.
#include <algorithm>

#include "cli/api.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/node_flags.h"
#include "cli/slowest.h"
#include "cli/text.h"
#include "cli/tracepoint_table.h"
#include "net/json_writer.h"

namespace fathom::cli {

namespace {

CommandLine tracepoints_line() {
  return {
      "fathom tracepoints",
      "list, enable or disable the events that programs record",
      "A tracepoint is a FATHOM_EVENT in a program's code; it is known from when it first runs. 'list' shows those of "
      "all running programs, or those that a PATTERN fits; 'enable' and 'disable' switch them, also in programs and on "
      "hosts that come later, until another word is said about them. 'rules' lists what was said, in its order: of "
      "several that fit a name the last one counts. With --pid it is no rule, and ends with the process, or its host's "
      "agent. In a PATTERN '*' stands for anything, '?' for any one byte. PROGRAMS counts the programs that have the "
      "tracepoint, STATE is how it is now.",
      {{"list|enable|disable|rules", "what to do"},
       {"PATTERN", "names of tracepoints; 'enable' and 'disable' need one", true}},
      join({node_flags(), {format_flag("text")}, connection_flags()}),
      {{"fathom tracepoints list", "all there are"},
       {"fathom tracepoints enable 'cache.*' --service checkout", "record what the caches of one service do"},
       {"fathom tracepoints disable '*'", "record nothing anywhere"},
       {"fathom tracepoints rules", "what was switched so far"}}};
}

struct TracepointAsk {
  std::string action;
  std::vector<std::string> patterns;
  NodeChoice choice;
  bool lists() const { return action == "list"; }
};

Result<TracepointAsk> read_tracepoint_ask(const Args& args) {
  TracepointAsk ask{args.positional(0), args.positionals_from(1), {}};
  if (!ask.lists() && ask.action != "enable" && ask.action != "disable") {
    return invalid("'" + printable(ask.action) + "' is none of list, enable, disable and rules");
  }
  if (!ask.lists() && ask.patterns.empty()) {
    return invalid("which ones? write fathom tracepoints " + ask.action + " PATTERN; '*' fits all");
  }
  Result<NodeChoice> choice = node_choice(args);
  if (!choice) return choice.error();
  ask.choice = *std::move(choice);
  return ask;
}

Target list_target(const TracepointAsk& ask) {
  Target target("/api/v1/tracepoints");
  for (const std::string& pattern : ask.patterns) target.add("pattern", pattern);
  if (!ask.choice.service.empty()) target.add("service", ask.choice.service);
  if (ask.choice.pid != 0) target.add("pid", std::to_string(ask.choice.pid));
  if (!ask.choice.node.empty()) target.add("node", ask.choice.node);
  return target;
}

std::string switch_body(const TracepointAsk& ask) {
  std::string body;
  net::JsonWriter json(body);
  json.begin_object().member("action", ask.action).key("patterns").begin_array();
  for (const std::string& pattern : ask.patterns) json.string(pattern);
  json.end_array();
  if (!ask.choice.service.empty()) json.member("service", ask.choice.service);
  if (ask.choice.pid != 0) json.member("pid", ask.choice.pid);
  if (!ask.choice.node.empty()) json.member("node", ask.choice.node);
  json.end_object();
  return body;
}

Result<boost::json::value> fetch(const TracepointAsk& ask, const Api& api) {
  return ask.lists() ? api.json(list_target(ask)) : api.post(Target("/api/v1/tracepoints"), switch_body(ask));
}

std::string nothing_matches(const TracepointAsk& ask) {
  if (ask.lists() && ask.patterns.empty()) {
    return "no running program has a tracepoint that has run; FATHOM_EVENT makes one (docs/client.md)\n";
  }
  std::string text = "no tracepoint of a running program matches; 'fathom tracepoints list' shows what there is\n";
  if (ask.lists()) return text;
  return text + "programs and tracepoints that come later, and match, are switched then\n";
}

ExitCode run_rules(const Args& args, const Context& context, const std::string& format) {
  bool chooses =
      !args.positionals_from(1).empty() || args.given("--service") || args.given("--pid") || args.given("--node");
  if (chooses)
    return failed(context, invalid("'rules' lists all of them: it takes no PATTERN, --service, --pid or --node"));
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  Result<boost::json::value> answer = api->json(Target("/api/v1/tracepoints/rules"));
  if (!answer) return failed(context, answer.error());
  const boost::json::array& rules = array_of(*answer, "rules");
  if (rules.empty()) context.err("nothing was switched: tracepoints are as programs and their environment say\n");
  context.out(format == "json" ? rows_json(rules) : rules_table(rules, context.columns));
  return ExitCode::kOk;
}

ExitCode run_tracepoints(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "text");
  if (!format) return failed(context, format.error());
  if (args.positional(0) == "rules") return run_rules(args, context, *format);
  Result<TracepointAsk> ask = read_tracepoint_ask(args);
  if (!ask) return failed(context, ask.error());
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  Result<boost::json::value> answer = fetch(*ask, *api);
  if (!answer) return failed(context, answer.error());
  const boost::json::array& nodes = array_of(*answer, "nodes");
  std::string table = tracepoint_table(nodes, context.columns);
  context.err(node_notes(nodes, "failure"));
  if (table.empty()) context.err(nothing_matches(*ask));
  if (is_truncated(nodes))
    context.err("there are more than one answer holds; a PATTERN, --service or --pid asks for fewer\n");
  context.out(*format == "json" ? rows_json(nodes) : table);
  return ExitCode::kOk;
}

}  // namespace

const Command& tracepoints_command() {
  static const Command kCommand{tracepoints_line(), run_tracepoints};
  return kCommand;
}

}  // namespace fathom::cli
