#include "base/ids.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/joined.h"
#include "cli/next_steps.h"
#include "cli/snapshot_note.h"
#include "cli/text.h"
#include "cli/timeline_text.h"

namespace fathom::cli {

namespace {

constexpr const char* kDefaultTimelineLines = "100";

CommandLine timeline_line() {
  return {
      "fathom timeline",
      "what the threads of one request did: events, waits, system calls, under its spans",
      "For each process and thread that served the request, from its captures ('fathom trace' says which there "
      "are): its spans, with the time that the thread ran and waited, and sums of its waits by place and by the thread "
      "that ended them, the most expensive first; the program's own events; system calls with their results; waits "
      "outside of system calls. Repeated waits, calls and page faults are one line, unless --limit is 0. Offsets "
      "count from the begin of the request, with --span from the begin of the span. States: running; runnable (waits "
      "for a processor, or for its CPU quota); sleeping; uninterruptible (mostly: waits for a disk); sleeping or "
      "waiting (one of the last two: its beginning was not seen); unknown (its events were lost). 'guessed' marks "
      "states that were inferred from later events. A "
      "capture without a trace has a timeline, too.",
      {id_positional()},
      join({part_flags(),
            {{"--all", "",
              "also other threads (those that ended waits of the request first), events of other requests, and all of "
              "the captures' time"},
             {"--limit", "N",
              "at most so many lines for each thread, spans not counted: the first and last events, the longest system "
              "calls and waits; 0: all lines, and no folding of repetitions (only adjacent page faults still share a "
              "line)",
              kDefaultTimelineLines},
             format_flag("text")},
            connection_flags()}),
      {{"fathom timeline 4bf92f3577b34da6a3ce929d0e0e4736", "where the time of a slow request went"},
       {"fathom timeline 4bf92f3577b34da6a3ce929d0e0e4736 --span 00f067aa0ba902b7 --limit 0",
        "one of its spans in full: one line for each wait and call"},
       {"fathom timeline 4bf92f3577b34da6a3ce929d0e0e4736 --all --format json | jq '.processes[].threads[].name'",
        "the threads that were there meanwhile"}}};
}

// The tree knows which requests are like it, and where its time went.
std::string next_after_timeline(const Api& api, const boost::json::value& timeline) {
  const std::string id = text_of(timeline, "trace_id");
  const bool has_some = !array_of(timeline, "captures").empty() || !array_of(timeline, "snapshots").empty();
  if (has_some || !TraceId::from_hex_text(id)) return "";
  Result<boost::json::value> trace = api.json(Target("/api/v1/traces/" + id));
  if (!trace) return "";
  const std::string steps = next_steps(api, build_trace_tree(*trace));
  return steps.empty() ? "" : "\n" + steps;
}

ExitCode print_text(const Api& api, const std::string& body, uint64_t limit, const Context& context) {
  Result<boost::json::value> timeline = parse_json(body);
  if (!timeline) return failed(context, timeline.error());
  context.out(timeline_text(*timeline, {context.columns, context.colour, limit}));
  context.out(snapshots_note(*timeline));
  context.out(next_after_timeline(api, *timeline));
  return ExitCode::kOk;
}

ExitCode run_timeline(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "text");
  if (!format) return failed(context, format.error());
  Result<uint64_t> limit = args.number("--limit", 0, UINT32_MAX);
  if (!limit) return failed(context, limit.error());
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  Result<std::string> body =
      fetch_joined(*api, args, {"timeline", args.has("--all"), *format == "json" || *limit == 0});
  if (!body) return not_fetched(context, body.error());
  if (*format == "text") return print_text(*api, *body, *limit, context);
  context.out(json_safe(*body));
  return ExitCode::kOk;
}

}  // namespace

const Command& timeline_command() {
  static const Command kCommand{timeline_line(), run_timeline};
  return kCommand;
}

}  // namespace fathom::cli
