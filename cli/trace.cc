#include <algorithm>

#include "base/time.h"
#include "cli/api.h"
#include "cli/captures.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/joined.h"
#include "cli/next_steps.h"
#include "cli/snapshot_note.h"
#include "cli/text.h"
#include "cli/trace_text.h"
#include "cli/trace_tree.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

constexpr const char* kDefaultTreeLines = "1000";
constexpr uint64_t kMostPageSpans = 10'000;

CommandLine trace_line() {
  return {
      "fathom trace",
      "one request, all its spans, as a tree",
      "Each line has the span's start relative to the request's, its duration, a bar that shows where in the request "
      "it lies, under whom it ran, and its kind, unless that is internal. A span whose parent has not arrived stands "
      "under a line that says so. Below the tree stands what was captured of its threads, which 'fathom timeline' "
      "shows, and which snapshots there are; of a request without any, which others like it have some, and how to have "
      "one recorded.",
      {{"TRACE_ID", "32 hexadecimal digits, as 'fathom slowest' prints them; the first 8 or more will do"}},
      join({{{"--attributes", "", "what each span says too: its id, attributes, events, links, losses, resources"},
             {"--limit", "N", "at most so many lines of the tree; 0: all", kDefaultTreeLines},
             {"--page", "N", "of a request that comes in pages, because it is large: spans of a page, 1 to 10000",
              "1000"},
             {"--cursor", "CURSOR", "of a request that comes in pages: the next page, as the page before names it"},
             format_flag("tree")},
            connection_flags()}),
      {{"fathom trace 4bf92f3577b34da6a3ce929d0e0e4736", "the tree"},
       {"fathom trace 4bf92f3577b34da6a3ce929d0e0e4736 --attributes", "with what each span says about itself"},
       {"fathom trace 4bf92f3577b34da6a3ce929d0e0e4736 --format json | jq '.spans[] | select(.status == \"error\")'",
        "its failed spans"}}};
}

std::string without_spans(const boost::json::value& trace) {
  bool crashed = std::ranges::any_of(array_of(trace, "captures"),
                                     [](const auto& capture) { return text_of(capture, "trigger") == "crash"; });
  if (!crashed) return "none of its spans has ended and come yet\n";
  return "none of its spans had ended when the process died; what was open, 'fathom timeline' shows\n";
}

// A page of a large trace looks like a whole trace otherwise.
std::string oversized_note(const boost::json::value& trace, const TraceTree& tree) {
  if (!tree.oversized) return "";
  std::string note = "this request is too large for one answer: it took " +
                     format_duration(number_of(trace, "duration_nano")) + " and has at most " +
                     plural(number_of(trace, "spans_at_most"), "stored span") + "; this page has " +
                     group_digits(tree.spans.size()) + " of them." +
                     (tree.complete ? "" : " Whether all of its spans are stored is not known.") + "\n";
  const std::string cursor = text_of(trace, "next_cursor");
  if (cursor.empty()) return note + "this is the last page\n\n";
  return note + "next page: fathom trace " + printable(tree.trace_id) + " --cursor " + printable(cursor) + "\n\n";
}

// Who was given a capture's id is told so.
Error not_found_trace(const Api& api, const std::string& id, const Error& error) {
  if (error.code != ErrorCode::kNotFound) return error;
  Result<boost::json::value> capture = api.json(Target("/api/v1/captures/" + id));
  if (!capture || text_of(*capture, "id") != id) return error;
  std::string trace = text_of(*capture, "trace_id");
  return not_found("this is a capture's id: fathom timeline " + id + " shows it" +
                   (trace.empty() ? "" : "; it is of trace " + printable(trace)));
}

std::string next_after_trace(const Api& api, const boost::json::value& trace, const TraceTree& tree) {
  if (!array_of(trace, "snapshots").empty()) return "";
  if (!array_of(trace, "stepped").empty()) return "requests that were not held: fathom slowest --no-stepped\n";
  if (!array_of(trace, "captures").empty()) return record_hint(tree);
  if (tree.spans.empty()) return "";
  return "\nnothing was captured for this trace ('fathom timeline' shows other captures of that time or says "
         "why), and there is no snapshot\n" +
         next_steps(api, tree);
}

ExitCode print_tree(const Api& api, const std::string& body, const Args& args, const Context& context) {
  Result<uint64_t> limit = args.number("--limit", 0, UINT32_MAX);
  if (!limit) return failed(context, limit.error());
  Result<boost::json::value> trace = parse_json(body);
  if (!trace) return failed(context, trace.error());
  const TraceTree tree = build_trace_tree(*trace);
  context.out(oversized_note(*trace, tree));
  if (tree.spans.empty()) {
    if (!tree.oversized) context.out(without_spans(*trace));
  } else {
    context.out(trace_text(tree, {context.columns, context.colour, args.has("--attributes"), *limit}));
  }
  context.out(captures_note(*trace));
  context.out(snapshots_note(*trace));
  context.out(stepped_note(*trace));
  context.out(next_after_trace(api, *trace, tree));
  return ExitCode::kOk;
}

ExitCode run_trace(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "tree");
  if (!format) return failed(context, format.error());
  const auto id = id_or_beginning(args.positional(0));
  if (!id) return failed(context, not_an_id(args.positional(0), "a trace id", 8));
  Result<uint64_t> page = args.number("--page", 1, kMostPageSpans);
  if (!page) return failed(context, page.error());
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  Target target("/api/v1/traces/" + *id);
  if (args.has("--page")) target.add("limit", std::to_string(*page));
  if (args.has("--cursor")) target.add("cursor", args.get("--cursor"));
  Result<std::string> body = api->fetch(target);
  if (!body) return not_fetched(context, not_found_trace(*api, *id, body.error()));
  if (*format == "tree") return print_tree(*api, *body, args, context);
  // The server's own words: a number that went through another parser might come out as another one.
  context.out(json_safe(*body));
  if (!body->ends_with('\n')) context.out("\n");
  return ExitCode::kOk;
}

}  // namespace

const Command& trace_command() {
  static const Command kCommand{trace_line(), run_trace};
  return kCommand;
}

}  // namespace fathom::cli
