#include "cli/captures.h"

#include <algorithm>

#include "base/capture_trigger.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/joined.h"
#include "cli/pages.h"
#include "cli/slowest.h"
#include "cli/table.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

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
  return text + "what its threads did: fathom timeline " + printable(text_of(trace, "trace_id")) + "\n";
}

const Command& captures_command() {
  static const Command kCommand{captures_line(), run_captures};
  return kCommand;
}

}  // namespace fathom::cli
