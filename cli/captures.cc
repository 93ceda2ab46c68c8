#include "cli/captures.h"

#include <algorithm>
#include <compare>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/capture_trigger.h"
#include "base/process_attributes.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/joined.h"
#include "cli/pages.h"
#include "cli/slowest.h"
#include "cli/span_details.h"
#include "cli/table.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

constexpr size_t kMostNotCaptured = 8;  // names in the list of processes without a capture

uint64_t window_nano(const boost::json::value& capture) {
  uint64_t start = number_of(capture, "start_time_unix_nano");
  return std::max(number_of(capture, "end_time_unix_nano"), start) - start;
}

std::string capture_marks(const boost::json::value& capture) {
  std::string marks;
  for (const char* mark : {"damaged", "truncated", "crosses_clock_jump"}) {
    if (flag_of(capture, mark)) marks += (marks.empty() ? "" : ", ") + std::string(mark);
  }
  uint64_t lost = 0;
  for (const auto& loss : array_of(capture, "losses")) lost += number_of(loss, "count") > 0;
  if (lost > 0) marks += marks.empty() ? "losses" : ", losses";
  return marks;
}

std::vector<std::string> capture_cells(const boost::json::value& capture) {
  std::string trace = text_of(capture, "trace_id");
  return {short_instant(number_of(capture, "start_time_unix_nano")),
          format_duration(window_nano(capture)),
          text_of(capture, "trigger"),
          name_text(text_of(capture, "service")),
          name_text(text_of(capture, "host_name")),
          std::to_string(number_of(capture, "pid")),
          text_of(capture, "operation"),
          capture_marks(capture),
          trace.empty() ? text_of(capture, "id") : trace};
}

// The process of a span according to its resource.
struct SpanProcess {
  std::string service;
  std::string node_id;  // empty: no agent added it, and the process id may be that of its container
  uint64_t pid = 0;
  std::string host;
  auto operator<=>(const SpanProcess&) const = default;
};

SpanProcess process_of(const boost::json::value& trace, const boost::json::value& span) {
  const boost::json::value& attributes = member_of(resource_of(trace, span), "attributes");
  const bool has_node_pid = !member_of(attributes, kProcessIdAttribute).is_null();
  return {.service = text_of(span, "service"),
          .node_id = text_of(attributes, kNodeIdAttribute),
          .pid = number_of(attributes, has_node_pid ? kProcessIdAttribute : "process.pid"),
          .host = text_of(attributes, "host.name")};
}

bool has_capture(const boost::json::array& captures, const SpanProcess& process) {
  return std::ranges::any_of(captures, [&](const boost::json::value& capture) {
    if (process.node_id.empty()) return text_of(capture, "service") == process.service;
    return text_of(capture, "node_id") == process.node_id && number_of(capture, "pid") == process.pid;
  });
}

// Only the service, if no process of the service has a capture.
std::string name_of_process(const boost::json::array& captures, const SpanProcess& process) {
  std::string name = name_text(process.service);
  if (!has_capture(captures, {.service = process.service})) return name;
  name += " (pid " + std::to_string(process.pid);
  return name + (process.host.empty() ? "" : " on " + name_text(process.host)) + ")";
}

// Names of the processes without a capture, in the order of the trace's spans.
std::vector<std::string> without_capture(const boost::json::value& trace) {
  const boost::json::array& captures = array_of(trace, "captures");
  std::set<SpanProcess> known;
  std::set<std::string> named;
  std::vector<std::string> names;
  for (const auto& span : array_of(trace, "spans")) {
    SpanProcess process = process_of(trace, span);
    if (known.contains(process)) continue;
    std::string name = has_capture(captures, process) ? "" : name_of_process(captures, process);
    if (!name.empty() && named.insert(name).second) names.push_back(std::move(name));
    known.insert(std::move(process));
  }
  return names;
}

std::string not_captured(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string text = "no capture of this trace: ";
  for (size_t i = 0; i < std::min(names.size(), kMostNotCaptured); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMostNotCaptured) text += " and " + plural(names.size() - kMostNotCaptured, "more service");
  return text + " (the timeline shows other captures of that time or says why)\n";
}

CommandLine captures_line() {
  return {
      "fathom captures",
      "what was kept of threads: which requests have captures, when and why",
      "A capture is what one process did in a window of time: its events, waits and system calls, kept because of a "
      "trigger: " +
          words_of_capture_triggers() +
          " (docs/triggers.md). Those whose window begins latest come first. The id is the one to give to 'fathom "
          "timeline': the trace's, or the capture's "
          "own where it is of no trace; the timeline names all captures of a trace, and so does --format json.",
      {},
      join({{{"--trace", "ID", "of this trace, of any time"},
             {"--service", "S", "of this service"},
             {"--trigger", "T", words_of_capture_triggers()}},
            range_flags(),
            {{"--limit", "N", "how many rows, 1 to 1000000", "20"}, format_flag("table")},
            connection_flags()}),
      {{"fathom captures", "the newest 20 of the last hour"},
       {"fathom captures --service checkout --trigger crash --since 7d", "what was going on when it died"},
       {"fathom timeline $(fathom captures --limit 1 --format json | jq -r '.[0].id')", "the newest one's timeline"}}};
}

Result<std::string> trigger_of(const Args& args) {
  return args.one_of("--trigger", {kCaptureTriggerNames.begin(), kCaptureTriggerNames.end()});
}

// A trace's are few.
bool any_time(const Args& args) {
  return args.given("--trace") && !args.given("--since") && !args.given("--from") && !args.given("--to");
}

std::string no_captures(const Args& args) {
  return any_time(args) ? "no captures of this trace\n" : "no captures" + further_back(args) + "\n";
}

Result<Target> captures_target(const Args& args, const Context& context) {
  Target target("/api/v1/captures");
  if (auto added = add_id(target, args, "--trace", "trace_id", 32); !added) return added.error();
  if (auto given = args.given("--service")) target.add("service", *given);
  if (args.given("--trigger")) {
    Result<std::string> trigger = trigger_of(args);
    if (!trigger) return trigger.error();
    target.add("trigger", *trigger);
  }
  if (any_time(args)) return target;
  Result<> range = add_range(target, args, context.now_unix_nano());
  if (!range) return range.error();
  return target;
}

ExitCode run_captures(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "table");
  if (!format) return failed(context, format.error());
  Result<uint64_t> limit = args.number("--limit", 1, kMostRows);
  if (!limit) return failed(context, limit.error());
  Result<Target> target = captures_target(args, context);
  if (!target) return failed(context, target.error());
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  Result<boost::json::array> rows = fetch_pages(*api, *target, "captures", *limit);
  if (!rows) return failed(context, rows.error());
  context.out(*format == "json" ? rows_json(*rows) : captures_table(*rows, context.columns));
  if (rows->empty() && *format != "json") context.err(no_captures(args));
  return ExitCode::kOk;
}

}  // namespace

std::string captures_table(const boost::json::array& captures, size_t columns) {
  if (captures.empty()) return "";
  Table table({{"START (UTC)"},
               {"WINDOW", Align::kRight},
               {"TRIGGER"},
               {"SERVICE", Align::kLeft, true},
               {"HOST", Align::kLeft, true},
               {"PID", Align::kRight},
               {"OPERATION", Align::kLeft, true},
               {"NOTE"},
               {"TRACE, OR CAPTURE ID"}});
  for (const boost::json::value& capture : captures) table.add(capture_cells(capture));
  return table.render(columns);
}

std::string captures_note(const boost::json::value& trace) {
  const boost::json::array& captures = array_of(trace, "captures");
  if (captures.empty()) return "";
  std::string text = "\n";
  for (const boost::json::value& capture : captures) {
    std::string marks = capture_marks(capture);
    text += "captured: " + name_text(text_of(capture, "service")) + " on " + name_text(text_of(capture, "host_name")) +
            ", pid " + std::to_string(number_of(capture, "pid")) + ", " + format_duration(window_nano(capture)) + ", " +
            printable(text_of(capture, "trigger")) + (marks.empty() ? "" : " (" + marks + ")") + "\n";
  }
  return text + not_captured(without_capture(trace)) + "what its threads did: fathom timeline " +
         printable(text_of(trace, "trace_id")) + "\n";
}

const Command& captures_command() {
  static const Command kCommand{captures_line(), run_captures};
  return kCommand;
}

}  // namespace fathom::cli
