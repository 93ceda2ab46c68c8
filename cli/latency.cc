#include <algorithm>

#include "base/time.h"
#include "cli/api.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/heatmap.h"
#include "cli/known_names.h"
#include "cli/table.h"
#include "cli/trace_text.h"

namespace fathom::cli {

namespace {

constexpr size_t kLatencyBarWidth = 20;

CommandLine latency_line() {
  return {"fathom latency",
          "percentiles of durations over time, and a heatmap",
          "One line per step, newest last; steps without spans are left out. Durations are those of single spans, "
          "percentiles are within 1 %, and the bar shows p99 against the highest p99. A span that was sent again in a "
          "request of another composition (an exporter that tried again with "
          "other spans beside it) counts again here; 'fathom slowest' and 'fathom trace' show it once.",
          {},
          join({operation_flags(),
                range_flags(),
                {{"--step", "D", "a whole number of minutes (default: chosen by the server)"},
                 {"--heatmap", "", "how many spans took how long, as a picture"},
                 format_flag("table")},
                connection_flags()}),
          {{"fathom latency --service gateway", "the last hour of one service"},
           {"fathom latency --service gateway --operation 'GET /search' --since 1d --step 1h", "a day by the hour"},
           {"fathom latency --since 6h --heatmap", "all spans, as a picture"}}};
}

std::vector<std::string> latency_cells(const boost::json::value& point, uint64_t highest_p99) {
  uint64_t p99 = number_of(point, "p99_nano");
  return {short_instant(number_of(point, "start_time_unix_nano")).substr(0, 16),
          group_digits(number_of(point, "count")),
          group_digits(number_of(point, "errors")),
          format_duration(number_of(point, "p50_nano")),
          format_duration(number_of(point, "p90_nano")),
          format_duration(p99),
          format_duration(number_of(point, "max_nano")),
          time_bar(0, p99, highest_p99, kLatencyBarWidth)};
}

std::string latency_table(const boost::json::array& points, size_t columns) {
  uint64_t highest = 0;
  for (const boost::json::value& point : points) highest = std::max(highest, number_of(point, "p99_nano"));
  std::vector<Column> titles{{"TIME (UTC)"}};
  for (const char* title : {"SPANS", "ERRORS", "P50", "P90", "P99", "MAX"}) titles.push_back({title, Align::kRight});
  titles.push_back({"P99", Align::kLeft, true});
  Table table(titles);
  for (const boost::json::value& point : points) table.add(latency_cells(point, highest));
  return table.render(columns);
}

Result<Target> latency_target(const Args& args, const Context& context) {
  Target target("/api/v1/latency");
  Result<> operation = add_operation(target, args);
  if (!operation) return operation.error();
  Result<> range = add_range(target, args, context.now_unix_nano());
  if (!range) return range.error();
  if (args.given("--step")) {
    Result<uint64_t> step = args.duration_nano("--step");
    if (!step) return step.error();
    if (*step == 0 || *step % kNanosPerMinute != 0) return invalid("--step must be a whole number of minutes, like 5m");
    target.add("step", std::to_string(*step) + "ns");
  }
  if (args.has("--heatmap")) target.add("heatmap", "true");
  return target;
}

ExitCode print_human(const Api& api, const std::string& body, const Args& args, const Context& context) {
  Result<boost::json::value> latency = parse_json(body);
  if (!latency) return failed(context, latency.error());
  const boost::json::array& points = array_of(*latency, "points");
  if (points.empty()) {
    context.err("no such spans in this time" + further_back(args) + "\n" + unknown_names(api, args, context));
  } else {
    context.out(args.has("--heatmap") ? heatmap_text(*latency, context.columns)
                                      : latency_table(points, context.columns));
  }
  return ExitCode::kOk;
}

ExitCode run_latency(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "table");
  if (!format) return failed(context, format.error());
  Result<Target> target = latency_target(args, context);
  if (!target) return failed(context, target.error());
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  Result<std::string> body = api->fetch(*target);
  if (!body) return failed(context, body.error());
  if (*format == "table") return print_human(*api, *body, args, context);
  Result<boost::json::value> checked = parse_json(*body);
  if (!checked) return failed(context, checked.error());
  context.out(json_safe(*body));
  return ExitCode::kOk;
}

}  // namespace

const Command& latency_command() {
  static const Command kCommand{latency_line(), run_latency};
  return kCommand;
}

}  // namespace fathom::cli
