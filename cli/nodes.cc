#include <algorithm>

#include "base/time.h"
#include "cli/api.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/sizes.h"
#include "cli/slowest.h"
#include "cli/table.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

CommandLine nodes_line() {
  return {
      "fathom nodes",
      "the hosts whose agents send spans: versions, clocks, losses, spools",
      "One line per node that the server has heard of since it was started, and within a day. CLOCK is how far the "
      "server's clock is ahead of the node's, give or take the error; answers about spans are corrected by it. SPOOL "
      "is what the agent keeps on disk while the server is away. LOST names what the agent and its programs gave up "
      "since the agent was started: spans, or parts of spans. Agents report every five seconds.",
      {},
      join({{format_flag("table")}, connection_flags()}),
      {{"fathom nodes", "all of them"},
       {"fathom nodes --format json | jq -r '.[] | select(.connected | not) | .host_name'", "who is away"}}};
}

std::string connection_text(const boost::json::value& node, uint64_t now_unix_nano) {
  if (flag_of(node, "connected")) return "connected";
  uint64_t seen = number_of(node, "last_seen_unix_nano");
  return "away for " + format_duration(now_unix_nano - std::min(now_unix_nano, seen));
}

std::string clock_of(const boost::json::value& node) {
  const boost::json::value& clock = member_of(node, "clock");
  if (!clock.is_object()) return "unknown";
  const boost::json::value& offset = member_of(clock, "offset_nano");
  bool behind = offset.is_int64() && offset.get_int64() < 0;
  uint64_t size = behind ? 0 - static_cast<uint64_t>(offset.get_int64()) : number_of(clock, "offset_nano");
  return (behind ? "-" : "+") + format_duration(size) + " ± " + format_duration(number_of(clock, "error_nano"));
}

std::string losses_text(const boost::json::value& node) {
  std::string text;
  for (const boost::json::value& loss : array_of(node, "losses")) {
    if (number_of(loss, "count") == 0) continue;
    text += (text.empty() ? "" : ", ") + text_of(loss, "reason") + " " + group_digits(number_of(loss, "count"));
  }
  return text.empty() ? "-" : text;
}

std::string nodes_table(const boost::json::array& nodes, const Context& context) {
  Table table({{"HOST", Align::kLeft, true},
               {"NODE"},
               {"VERSION"},
               {"STATE"},
               {"CLOCK"},
               {"PROGRAMS", Align::kRight},
               {"SPANS", Align::kRight},
               {"SPOOL", Align::kRight},
               {"LOST", Align::kLeft, true}});
  for (const boost::json::value& node : nodes) {
    table.add({name_text(text_of(node, "host_name")), short_node_id(text_of(node, "node_id")),
               text_of(node, "agent_version"), connection_text(node, context.now_unix_nano()), clock_of(node),
               group_digits(number_of(node, "programs")), group_digits(number_of(node, "acknowledged_spans")),
               format_size(number_of(node, "spool_bytes")), losses_text(node)});
  }
  return table.render(context.columns);
}

ExitCode run_nodes(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "table");
  if (!format) return failed(context, format.error());
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  Result<boost::json::value> answer = api->json(Target("/api/v1/nodes"));
  if (!answer) return failed(context, answer.error());
  const boost::json::array& nodes = array_of(*answer, "nodes");
  if (*format == "json") {
    context.out(rows_json(nodes));
  } else if (nodes.empty()) {
    context.err(
        "no agent has said anything to this server since it was started: 'fathom up' runs one beside the server; on "
        "other hosts, fathom-agent --collector HOST:PORT with the address that the server has for --ingest\n");
  } else {
    context.out(nodes_table(nodes, context));
  }
  return ExitCode::kOk;
}

}  // namespace

const Command& nodes_command() {
  static const Command kCommand{nodes_line(), run_nodes};
  return kCommand;
}

}  // namespace fathom::cli
