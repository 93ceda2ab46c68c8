#include "query/picture_routes.h"

#include "base/time.h"
#include "query/differences.h"
#include "query/graph.h"
#include "query/heatmap.h"

namespace fathom::query {

namespace {

using store::QueryBudget;

RoutedQuery heatmap_route(Params& params) {
  HeatmapQuery query;
  query.filter.range = params.range().range;
  read_span_conditions(params, query.filter);
  query.columns = params.number("columns", 1, kMaxColumns, kDefaultColumns);
  query.rows = params.number("rows", 1, kMaxBins, kDefaultBins);
  return {.name = "heatmap", .work = [query](const Stores& stores, QueryBudget& budget) {
            return written_answer(run_heatmap(stores.spans, query, now_unix_nano(), budget), budget);
          }};
}

RoutedQuery differences_route(Params& params) {
  DifferencesQuery query;
  query.selected.range = params.range().range;
  read_span_conditions(params, query.selected);
  query.selected.min_duration_nano = params.duration_nano("min_duration").value_or(0);
  query.selected.max_duration_nano = params.duration_nano("max_duration").value_or(UINT64_MAX);
  query.view.from_unix_nano = params.instant("view_from").value_or(query.selected.range.from_unix_nano);
  query.view.to_unix_nano = params.instant("view_to").value_or(query.selected.range.to_unix_nano);
  query.limit = params.number("limit", 1, kMaxDifferences, kDefaultDifferences);
  query.requests = params.choice("within", "span", "trace");
  return {.name = "differences", .work = [query](const Stores& stores, QueryBudget& budget) {
            return written_answer(run_differences(stores.spans, query, budget), budget);
          }};
}

RoutedQuery graph_route(Params& params) {
  return {
      .name = "graph",
      .work = [range = params.range().range, now = params.now_unix_nano()](const Stores& stores, QueryBudget& budget) {
        return written_answer(run_graph(stores.spans, range, now, budget), budget);
      }};
}

}  // namespace

void read_span_conditions(Params& params, store::Filter& filter) {
  filter.service = params.text("service");
  filter.operation = params.text("operation");
  filter.where = params.conditions("where");
  filter.errors = params.flag("errors");
}

std::optional<RoutedQuery> picture_route(std::string_view path, Params& params) {
  if (path == "/api/v1/heatmap") return heatmap_route(params);
  if (path == "/api/v1/differences") return differences_route(params);
  if (path == "/api/v1/graph") return graph_route(params);
  return std::nullopt;
}

}  // namespace fathom::query
