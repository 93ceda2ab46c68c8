#include <algorithm>

#include "base/time.h"
#include "cli/api.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/known_names.h"
#include "cli/slowest.h"
#include "cli/table.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

CommandLine services_line() {
  return {"fathom services",
          "which services and operations there are, how busy, how slow",
          "One line per service, or with --operations or --service one per operation. Durations are those of single "
          "spans; percentiles are within 1 %. The time is widened to whole minutes. --service takes a service's "
          "name without its namespace. A span that was sent again in a request of another composition (an exporter "
          "that tried again with "
          "other spans beside it) counts again here; 'fathom slowest' and 'fathom trace' show it once.",
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

// Where any service has a namespace, a column of its own: --service takes the bare name.
bool any_namespace(const boost::json::array& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const boost::json::value& row) { return !text_of(row, "service_namespace").empty(); });
}

// Both tables: whose, `own` columns, numbers.
class BusyTable {
 public:
  BusyTable(const boost::json::array& rows, const std::vector<Column>& own)
      : namespaces_(any_namespace(rows)), table_(titles(own)) {}

  void add(const boost::json::value& row, const std::vector<std::string>& own) {
    std::vector<std::string> cells;
    if (namespaces_) cells.push_back(text_of(row, "service_namespace"));
    cells.push_back(name_text(text_of(row, "service")));
    cells.insert(cells.end(), own.begin(), own.end());
    for (const char* member : {"spans", "errors"}) cells.push_back(group_digits(number_of(row, member)));
    for (const std::string& cell : duration_cells(row)) cells.push_back(cell);
    table_.add(cells);
  }

  std::string render(size_t columns) const { return table_.render(columns); }

 private:
  std::vector<Column> titles(const std::vector<Column>& own) const {
    std::vector<Column> columns;
    if (namespaces_) columns.push_back({"NAMESPACE", Align::kLeft, true});
    columns.push_back({"SERVICE", Align::kLeft, true});
    columns.insert(columns.end(), own.begin(), own.end());
    for (const char* title : {"SPANS", "ERRORS", "P50", "P99", "MAX"}) columns.push_back({title, Align::kRight});
    return columns;
  }

  bool namespaces_;
  Table table_;
};

std::string services_table(const boost::json::array& rows, size_t columns) {
  BusyTable table(rows, {{"OPERATIONS", Align::kRight}});
  for (const boost::json::value& row : rows) table.add(row, {group_digits(number_of(row, "operations"))});
  return table.render(columns);
}

std::string operations_table(const boost::json::array& rows, size_t columns) {
  BusyTable table(rows, {{"OPERATION", Align::kLeft, true}, {"KIND"}});
  for (const boost::json::value& row : rows) {
    table.add(row, {name_text(text_of(row, "operation")), text_of(row, "kind")});
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

std::string nothing(const Args& args, const Context& context) {
  auto service = args.given("--service");
  std::string whose = service ? " of service '" + printable(*service) + "'" : "";
  return "no spans" + whose + " in this time" + further_back(args) + "\n" +
         (service ? unknown_names(*connect(args, context), args, context) : "");
}

ExitCode run_services(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "table");
  if (!format) return failed(context, format.error());
  bool by_operation = args.has("--operations") || args.has("--service");
  Result<boost::json::array> rows = fetch_list(args, context, by_operation ? "operations" : "services");
  if (!rows) return failed(context, rows.error());
  if (*format == "json") context.out(rows_json(*rows));
  if (*format == "table" && rows->empty()) context.err(nothing(args, context));
  if (*format == "table" && !rows->empty()) {
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
