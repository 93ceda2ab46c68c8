#include <algorithm>
#include <cmath>
#include <utility>

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
          "spans; percentiles are within 1 %. The time is widened to whole minutes. RATE is SPANS over the part of it "
          "that the server may have spans of (up to now, since it received the first), which the last line tells. "
          "--service takes a service's "
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

// What the server answered: the rows, and of how much time they are.
struct Busy {
  boost::json::array rows;
  uint64_t from_unix_nano = 0;
  uint64_t counted_nano = 0;  // 0: none, or not said
};

// With one digit behind the point where there is but one before it.
std::string rounded(double number) {
  const auto tenths = static_cast<uint64_t>(std::llround(number * 10));
  if (tenths >= 100) return group_digits((tenths + 5) / 10);
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10));
}

// "12/s", "3.4/min": at least one of something, but for what is rarer than once in an hour.
std::string rate_text(uint64_t spans, uint64_t counted_nano) {
  if (counted_nano == 0) return "-";
  const double per_nano = static_cast<double>(spans) / static_cast<double>(counted_nano);
  for (const auto& [nano, unit] : {std::pair{kNanosPerSecond, "/s"}, {kNanosPerMinute, "/min"}}) {
    const double rate = per_nano * static_cast<double>(nano);
    if (rate >= 1) return rounded(rate) + unit;
  }
  return rounded(per_nano * static_cast<double>(kNanosPerHour)) + "/h";
}

// Both tables: whose, `own` columns, numbers.
class BusyTable {
 public:
  BusyTable(const Busy& busy, const std::vector<Column>& own)
      : counted_nano_(busy.counted_nano), namespaces_(any_namespace(busy.rows)), table_(titles(own)) {}

  void add(const boost::json::value& row, const std::vector<std::string>& own) {
    std::vector<std::string> cells;
    if (namespaces_) cells.push_back(text_of(row, "service_namespace"));
    cells.push_back(name_text(text_of(row, "service")));
    cells.insert(cells.end(), own.begin(), own.end());
    cells.push_back(group_digits(number_of(row, "spans")));
    cells.push_back(rate_text(number_of(row, "spans"), counted_nano_));
    cells.push_back(group_digits(number_of(row, "errors")));
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
    for (const char* title : {"SPANS", "RATE", "ERRORS", "P50", "P99", "MAX"})
      columns.push_back({title, Align::kRight});
    return columns;
  }

  const uint64_t counted_nano_;
  const bool namespaces_;
  Table table_;
};

std::string services_table(const Busy& busy, size_t columns) {
  BusyTable table(busy, {{"OPERATIONS", Align::kRight}});
  for (const boost::json::value& row : busy.rows) table.add(row, {group_digits(number_of(row, "operations"))});
  return table.render(columns);
}

std::string operations_table(const Busy& busy, size_t columns) {
  BusyTable table(busy, {{"OPERATION", Align::kLeft, true}, {"KIND"}});
  for (const boost::json::value& row : busy.rows) {
    table.add(row, {name_text(text_of(row, "operation")), text_of(row, "kind")});
  }
  return table.render(columns);
}

// For programs every row says it.
boost::json::array with_counted(const Busy& busy) {
  boost::json::array rows = busy.rows;
  for (boost::json::value& row : rows) {
    if (row.is_object() && busy.counted_nano > 0) row.as_object()["counted_nano"] = busy.counted_nano;
  }
  return rows;
}

Result<Busy> fetch_list(const Args& args, const Context& context, const std::string& list) {
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
  return Busy{array_of(*answer, list), number_of(*answer, "counted_from_unix_nano"),
              number_of(*answer, "counted_nano")};
}

std::string no_spans_note(const Args& args, const Context& context) {
  auto service = args.given("--service");
  std::string whose = service ? " of service '" + printable(*service) + "'" : "";
  return "no spans" + whose + " in this time" + further_back(args) + "\n" +
         (service ? unknown_names(*connect(args, context), args, context) : "");
}

std::string remark_on_rates(const Busy& busy) {
  if (busy.counted_nano == 0) return "";
  return "rates are of " + format_duration(busy.counted_nano) + ", from " + short_instant(busy.from_unix_nano) +
         " UTC on\n";
}

ExitCode run_services(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "table");
  if (!format) return failed(context, format.error());
  bool by_operation = args.has("--operations") || args.has("--service");
  Result<Busy> busy = fetch_list(args, context, by_operation ? "operations" : "services");
  if (!busy) return failed(context, busy.error());
  if (*format == "json") {
    context.out(rows_json(with_counted(*busy)));
  } else if (busy->rows.empty()) {
    context.err(no_spans_note(args, context));
  } else {
    context.out(by_operation ? operations_table(*busy, context.columns) : services_table(*busy, context.columns));
    context.err(remark_on_rates(*busy));
  }
  return ExitCode::kOk;
}

}  // namespace

const Command& services_command() {
  static const Command kCommand{services_line(), run_services};
  return kCommand;
}

}  // namespace fathom::cli
