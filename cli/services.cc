#include "base/time.h"
#include "cli/api.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/slowest.h"
#include "cli/table.h"

namespace fathom::cli {

namespace {

CommandLine services_line() {
  return {"fathom services",
          "which services and operations there are, how busy, how slow",
          "One line per service, or with --operations or --service one per operation. Durations are those of single "
          "spans; percentiles are within 1 %. The time is widened to whole minutes.",
          {},
          join({{{"--service", "S", "the operations of this service"},
                 {"--operations", "", "the operations of all services"}},
                range_flags(),
                {format_flag("table")},
                connection_flags()}),
          {{"fathom services", "all services of the last hour"},
           {"fathom services --service gateway --since 1d", "the operations of one of them, today"},
           {"fathom services --operations --format json | jq -r '.[] | select(.errors > 0) | .operation'",
            "operations with failures"}}};
}

std::vector<std::string> duration_cells(const boost::json::value& row) {
  return {format_duration(number_of(row, "p50_nano")), format_duration(number_of(row, "p99_nano")),
          format_duration(number_of(row, "max_nano"))};
}

std::string qualified_service(const boost::json::value& row) {
  std::string name_space = text_of(row, "service_namespace");
  return name_space.empty() ? text_of(row, "service") : name_space + "/" + text_of(row, "service");
}

void add_row(Table& table, std::vector<std::string> cells, const boost::json::value& row) {
  cells.push_back(group_digits(number_of(row, "spans")));
  cells.push_back(group_digits(number_of(row, "errors")));
  for (std::string& cell : duration_cells(row)) cells.push_back(std::move(cell));
  table.add(cells);
}

std::vector<Column> with_numbers(std::vector<Column> columns) {
  for (const char* title : {"SPANS", "ERRORS", "P50", "P99", "MAX"}) columns.push_back({title, Align::kRight});
  return columns;
}

std::string services_table(const boost::json::array& rows, size_t columns) {
  Table table(with_numbers({{"SERVICE", Align::kLeft, true}, {"OPERATIONS", Align::kRight}}));
  for (const boost::json::value& row : rows) {
    add_row(table, {qualified_service(row), group_digits(number_of(row, "operations"))}, row);
  }
  return table.render(columns);
}

std::string operations_table(const boost::json::array& rows, size_t columns) {
  Table table(with_numbers({{"SERVICE", Align::kLeft, true}, {"OPERATION", Align::kLeft, true}, {"KIND"}}));
  for (const boost::json::value& row : rows) {
    add_row(table, {qualified_service(row), text_of(row, "operation"), text_of(row, "kind")}, row);
  }
  return table.render(columns);
}

Result<boost::json::array> fetch_list(const Args& args, const Context& context, const std::string& list) {
  Target target("/api/v1/" + list);
  if (auto service = args.given("--service")) {
    if (service->empty()) return invalid("--service: the name is empty");
    target.add("service", *service);
  }
  Result<> range = add_range(target, args, context.now_unix_nano());
  if (!range) return range.error();
  Result<Api> api = connect(args, context);
  if (!api) return api.error();
  Result<boost::json::value> answer = api->json(target);
  if (!answer) return answer.error();
  return array_of(*answer, list);
}

ExitCode nothing(const Args& args, const Context& context) {
  if (!args.given("--service")) {
    context.err("no spans in this time; --since 1d looks further back\n");
    return ExitCode::kOk;
  }
  context.fail("no spans of service '" + printable(args.get("--service")) + "' in this time");
  return ExitCode::kNothingFound;
}

ExitCode run_services(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "table");
  if (!format) return failed(context, format.error());
  bool by_operation = args.has("--operations") || args.has("--service");
  Result<boost::json::array> rows = fetch_list(args, context, by_operation ? "operations" : "services");
  if (!rows) return failed(context, rows.error());
  if (*format == "json") context.out(rows_json(*rows));
  if (rows->empty()) return nothing(args, context);
  if (*format == "table") {
    context.out(by_operation ? operations_table(*rows, context.columns) : services_table(*rows, context.columns));
  }
  return ExitCode::kOk;
}

}  // namespace

const Command& services_command() {
  static const Command kCommand{services_line(), run_services};
  return kCommand;
}

}  // namespace fathom::cli
