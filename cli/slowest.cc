#include "cli/slowest.h"

#include <algorithm>
#include <map>

#include "base/time.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/known_names.h"
#include "cli/pages.h"
#include "cli/table.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

std::string request_marks(const boost::json::value& row) {
  const std::pair<bool, const char*> all[] = {{flag_of(row, "error"), "error"},
                                              {flag_of(row, "oversized"), "oversized"},
                                              {!flag_of(row, "complete") && !flag_of(row, "oversized"), "incomplete"},
                                              {number_of(row, "captures") > 0, "captured"},
                                              {number_of(row, "snapshots") > 0, "snapshot"},
                                              {flag_of(row, "stepped"), "stepped"}};
  std::string marks;
  for (const auto& [holds, mark] : all) {
    if (holds) marks += (marks.empty() ? "" : ", ") + std::string(mark);
  }
  return marks;
}

// In the server's words: what of a request must have been kept; nothing: no matter.
std::string kept_asked(const Args& args) {
  const bool captured = args.has("--captured");
  if (args.has("--recorded")) return captured ? "any" : "recorded";
  return captured ? "captured" : "";
}

std::vector<std::string> request_cells(const boost::json::value& row, bool by_span) {
  std::vector<std::string> cells{format_duration(number_of(row, "duration_nano")),
                                 short_instant(number_of(row, "start_time_unix_nano")),
                                 name_text(text_of(row, "service")),
                                 name_text(text_of(row, "operation")),
                                 group_digits(number_of(row, "spans")),
                                 request_marks(row),
                                 text_of(row, "trace_id")};
  if (by_span) cells.push_back(text_of(row, "span_id"));
  return cells;
}

CommandLine slowest_line() {
  return {
      "fathom slowest",
      "the slowest requests, or spans, of any service, operation, attribute and time",
      "Rows come in order of duration, longest first. --service, --operation, --where and --errors must hold on one "
      "span together; with --by trace a request is shown when any of its spans does. Durations in --min-duration and "
      "--max-duration are those of what --by names. 'incomplete' marks requests with spans whose parent has not "
      "arrived, 'oversized' requests with so many spans that their number is an upper bound, 'captured' requests whose "
      "threads 'fathom timeline' shows, 'snapshot' those of which the server has "
      "recorded instructions: 'fathom trace' names them, 'stepped' those that were served by a process while 'fathom "
      "record' held it to step it: their times are the stepper's. When nothing matches, the exit status is 0 all the "
      "same.",
      {},
      join({operation_flags(),
            condition_flags(),
            range_flags(),
            {{"--by", "trace|span", "whole requests, or single spans", "trace"},
             {"--captured", "", "only those of whose request something was captured"},
             {"--recorded", "", "only those of whose request there is a snapshot; with --captured: either"},
             {"--no-stepped", "", "without those that single steps made slow"},
             {"--limit", "N", "how many rows, 1 to 1000000", "20"},
             format_flag("table")},
            connection_flags()}),
      {{"fathom slowest", "the 20 slowest requests of the last hour"},
       {"fathom slowest --service inventory --by span --since 1d", "the slowest spans of one service today"},
       {"fathom slowest --where http.route=/checkout --where user.tier=gold --errors",
        "failed checkouts of gold users"},
       {"fathom slowest --where 'payment.amount >= 500' --where '!coupon'", "large payments without a coupon"},
       {"fathom slowest --captured --limit 5", "those whose threads 'fathom timeline' can show"},
       {"fathom slowest --from 2026-11-21T02:00:00Z --to 2026-11-21T02:05:00Z --min-duration 250ms", "one bad moment"},
       {"fathom trace $(fathom slowest --limit 1 --format json | jq -r '.[0].trace_id')",
        "the slowest one, as a tree"}}};
}

Result<Target> slowest_target(const Args& args, const Context& context) {
  Target target("/api/v1/slowest");
  Result<> operation = add_operation(target, args);
  if (!operation) return operation.error();
  Result<> conditions = add_conditions(target, args);
  if (!conditions) return conditions.error();
  Result<> range = add_range(target, args, context.now_unix_nano());
  if (!range) return range.error();
  if (const std::string kept = kept_asked(args); !kept.empty()) target.add("kept", kept);
  Result<std::string> by = args.one_of("--by", {"trace", "span"});
  if (!by) return by.error();
  return target.add("by", *by);
}

std::string render(const boost::json::array& rows, const std::string& format, const Args& args,
                   const Context& context) {
  if (format == "json") return rows_json(rows);
  return slowest_table(rows, args.get("--by") == "span", context.columns);
}

IsWanted wanted(const Args& args) {
  if (!args.has("--no-stepped")) return {};
  return [](const boost::json::value& row) { return !flag_of(row, "stepped"); };
}

// Rows whose times say nothing of the program.
std::string remark_on_stepped(const boost::json::array& rows) {
  const auto many = std::ranges::count_if(rows, [](const boost::json::value& row) { return flag_of(row, "stepped"); });
  if (many == 0) return "";
  return group_digits(static_cast<uint64_t>(many)) + (many == 1 ? " of these is" : " of these are") +
         " 'stepped': slow because 'fathom record' held a process; "
         "--no-stepped leaves them out\n";
}

std::string remark_on_nothing(const Args& args) {
  static const std::map<std::string, const char*> kWhat = {{"", "nothing matches"},
                                                           {"captured", "nothing that matches was captured"},
                                                           {"recorded", "nothing that matches was recorded"},
                                                           {"any", "nothing that matches was captured or recorded"}};
  const std::string what = kWhat.at(kept_asked(args));
  return what + (args.has("--no-stepped") ? " that was not stepped" : "") + further_back(args) + "\n";
}

std::string remark_on(const boost::json::array& rows, const Args& args) {
  return rows.empty() ? remark_on_nothing(args) : remark_on_stepped(rows);
}

ExitCode run_slowest(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "table");
  if (!format) return failed(context, format.error());
  Result<uint64_t> limit = args.number("--limit", 1, kMostRows);
  if (!limit) return failed(context, limit.error());
  Result<Target> target = slowest_target(args, context);
  if (!target) return failed(context, target.error());
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  Result<boost::json::array> rows = fetch_pages(*api, *target, "rows", *limit, wanted(args));
  if (!rows) return failed(context, rows.error());
  context.out(render(*rows, *format, args, context));
  if (*format == "json") return ExitCode::kOk;
  context.err(remark_on(*rows, args));
  if (rows->empty()) context.err(unknown_names(*api, args, context));
  return ExitCode::kOk;
}

}  // namespace

std::string slowest_table(const boost::json::array& rows, bool by_span, size_t columns) {
  if (rows.empty()) return "";
  std::vector<Column> titles{{"DURATION", Align::kRight},
                             {"START (UTC)"},
                             {"SERVICE", Align::kLeft, true},
                             {"OPERATION", Align::kLeft, true},
                             {"SPANS", Align::kRight},
                             {"NOTE"},
                             {"TRACE ID"}};
  if (by_span) titles.push_back({"SPAN ID"});
  Table table(titles);
  for (const boost::json::value& row : rows) table.add(request_cells(row, by_span));
  return table.render(columns);
}

std::string rows_json(const boost::json::array& rows) {
  if (rows.empty()) return "[]\n";
  std::string out = "[";
  for (size_t i = 0; i < rows.size(); ++i) {
    out += i == 0 ? "\n" : ",\n";
    out += json_safe(boost::json::serialize(rows[i]));
  }
  return out + "\n]\n";
}

const Command& slowest_command() {
  static const Command kCommand{slowest_line(), run_slowest};
  return kCommand;
}

}  // namespace fathom::cli
