#include "cli/slowest.h"

#include <algorithm>

#include "base/time.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/known_names.h"
#include "cli/pages.h"
#include "cli/table.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kMostRows = 1'000'000;
constexpr uint64_t kLookedAt = 1000;  // rows, for some that have more; or as many as are asked for

std::string marks_of(const boost::json::value& row) {
  const std::pair<bool, const char*> all[] = {{flag_of(row, "error"), "error"},
                                              {!flag_of(row, "complete"), "incomplete"},
                                              {number_of(row, "captures") > 0, "captured"},
                                              {number_of(row, "snapshots") > 0, "snapshot"},
                                              {flag_of(row, "stepped"), "stepped"}};
  std::string marks;
  for (const auto& [holds, mark] : all) {
    if (holds) marks += (marks.empty() ? "" : ", ") + std::string(mark);
  }
  return marks;
}

// --captured and --recorded: what of a row must be there; --no-stepped: what must not.
struct Wanted {
  bool captured = false;
  bool recorded = false;
  bool unstepped = false;

  bool any() const { return captured || recorded || unstepped; }
  bool holds(const boost::json::value& row) const {
    if (unstepped && flag_of(row, "stepped")) return false;
    return (!captured && !recorded) || (captured && number_of(row, "captures") > 0) ||
           (recorded && number_of(row, "snapshots") > 0);
  }
};

std::vector<std::string> cells_of(const boost::json::value& row, bool by_span) {
  std::vector<std::string> cells{format_duration(number_of(row, "duration_nano")),
                                 short_instant(number_of(row, "start_time_unix_nano")),
                                 name_text(text_of(row, "service")),
                                 name_text(text_of(row, "operation")),
                                 group_digits(number_of(row, "spans")),
                                 marks_of(row),
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
      "arrived, 'captured' requests whose threads 'fathom timeline' shows, 'snapshot' those of which the server has "
      "recorded instructions: 'fathom trace' names them, 'stepped' those that were served by a process while 'fathom "
      "record' held it to step it: their times are the stepper's. When nothing matches, the exit status is 0 all the "
      "same.",
      {},
      join({operation_flags(),
            condition_flags(),
            range_flags(),
            {{"--by", "trace|span", "whole requests, or single spans", "trace"},
             {"--captured", "", "only those of which something was captured; looks at the slowest 1,000, or N"},
             {"--recorded", "", "only those of which there is a snapshot, likewise; with --captured: either"},
             {"--no-stepped", "", "without requests that single steps made slow, likewise"},
             {"--limit", "N", "how many rows, 1 to 1000000", "20"},
             format_flag("table")},
            connection_flags()}),
      {{"fathom slowest", "the 20 slowest requests of the last hour"},
       {"fathom slowest --service inventory --by span --since 1d", "the slowest spans of one service today"},
       {"fathom slowest --where http.route=/checkout --where user.tier=gold --errors",
        "failed checkouts of gold users"},
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
  Result<std::string> by = args.one_of("--by", {"trace", "span"});
  if (!by) return by.error();
  return target.add("by", *by);
}

std::string render(const boost::json::array& rows, const std::string& format, const Args& args,
                   const Context& context) {
  if (format == "json") return rows_json(rows);
  return slowest_table(rows, args.get("--by") == "span", context.columns);
}

// The rows that are wanted, and how many were looked at.
struct Found {
  boost::json::array rows;
  size_t looked_at = 0;
};

Result<Found> find_rows(const Api& api, const Target& target, const Wanted& wanted, uint64_t limit) {
  Result<boost::json::array> rows = fetch_pages(api, target, "rows", wanted.any() ? std::max(limit, kLookedAt) : limit);
  if (!rows) return rows.error();
  Found found{{}, rows->size()};
  if (!wanted.any()) return Found{*std::move(rows), found.looked_at};
  for (boost::json::value& row : *rows) {
    if (found.rows.size() < limit && wanted.holds(row)) found.rows.push_back(std::move(row));
  }
  return found;
}

std::string what_of(size_t rows, const Wanted& wanted) {
  if (wanted.captured || wanted.recorded) return rows == 1 ? " has one" : " have one";
  return rows == 1 ? " was not stepped" : " were not stepped";
}

// Rows whose times say nothing of the program.
std::string remark_on_stepped(const boost::json::array& rows) {
  const auto many = std::ranges::count_if(rows, [](const boost::json::value& row) { return flag_of(row, "stepped"); });
  if (many == 0) return "";
  return group_digits(static_cast<uint64_t>(many)) + (many == 1 ? " of these is" : " of these are") +
         " 'stepped': slow because 'fathom record' held a process; "
         "--no-stepped leaves them out\n";
}

// Of fewer than were asked for: why there are no more.
std::string remark_on(const Found& found, const Wanted& wanted, uint64_t limit, const Args& args) {
  if (found.looked_at == 0) return "nothing matches" + further_back(args) + "\n";
  if (!wanted.any() || found.rows.size() >= limit) return "";
  const bool all = found.looked_at < std::max(limit, kLookedAt);
  return std::string(all ? "of all " : "of the slowest ") + group_digits(found.looked_at) + " that match, " +
         group_digits(found.rows.size()) + what_of(found.rows.size(), wanted) +
         (all ? further_back(args) : "; --max-duration looks at those below") + "\n";
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
  const Wanted wanted{args.has("--captured"), args.has("--recorded"), args.has("--no-stepped")};
  Result<Found> found = find_rows(*api, *target, wanted, *limit);
  if (!found) return failed(context, found.error());
  context.out(render(found->rows, *format, args, context));
  if (*format == "json") return ExitCode::kOk;
  context.err(remark_on(*found, wanted, *limit, args) + remark_on_stepped(found->rows));
  if (found->looked_at == 0) context.err(unknown_names(*api, args, context));
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
  for (const boost::json::value& row : rows) table.add(cells_of(row, by_span));
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
