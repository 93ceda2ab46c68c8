#include "query/routes.h"

#include <optional>

#include "base/time.h"
#include "query/answers_json.h"
#include "query/attribute_values.h"
#include "query/capture_routes.h"
#include "query/lost_batches.h"
#include "query/params.h"
#include "query/picture_routes.h"
#include "query/queries.h"
#include "query/snapshots/snapshot_routes.h"
#include "query/trace_name.h"

namespace fathom::query {

namespace {

using store::QueryBudget;

// "ab/cd/values" between "ab/" and "/values" is "cd"; nothing when the path has another shape.
std::optional<std::string> between(std::string_view path, std::string_view prefix, std::string_view suffix) {
  if (path.size() <= prefix.size() + suffix.size() || !path.starts_with(prefix) || !path.ends_with(suffix)) {
    return std::nullopt;
  }
  return std::string(path.substr(prefix.size(), path.size() - prefix.size() - suffix.size()));
}

Kept kept_asked(Params& params) {
  const auto word = params.text("kept");
  if (!word) return Kept::kNoMatter;
  const auto kept = kept_of(*word);
  if (!kept) params.blame("'kept' must be captured, recorded or any");
  return kept.value_or(Kept::kNoMatter);
}

store::By by_asked(Params& params) {
  const bool spans = params.choice("by", "trace", "span");
  const auto once = params.text("once");
  if (!once) return spans ? store::By::kSpan : store::By::kTrace;
  if (once != "trace") params.blame("'once' must be trace");
  if (!spans) params.blame("'once=trace' goes with 'by=span': by trace every row is another one anyway");
  return store::By::kSpanOfTrace;
}

RoutedQuery slowest_route(Params& params) {
  SlowestQuery query;
  auto asked = params.range();
  query.range_text = asked.text;
  query.filter.range = asked.range;
  read_span_conditions(params, query.filter);
  query.filter.min_duration_nano = params.duration_nano("min_duration").value_or(0);
  query.filter.max_duration_nano = params.duration_nano("max_duration").value_or(UINT64_MAX);
  query.by = by_asked(params);
  query.kept = kept_asked(params);
  query.limit = params.number("limit", 1, kMaxRows, kDefaultRows);
  query.cursor = params.text("cursor").value_or("");
  return {.name = "slowest", .work = [query](const Stores& stores, QueryBudget& budget) {
            return written_answer(run_slowest(stores, query, budget), budget);
          }};
}

RoutedQuery services_route(Params& params) {
  return {
      .name = "services",
      .work = [range = params.range().range, now = params.now_unix_nano()](const Stores& stores, QueryBudget& budget) {
        return written_answer(run_services(stores.spans, range, now, budget), budget);
      }};
}

RoutedQuery operations_route(Params& params) {
  return {.name = "operations",
          .work = [range = params.range().range, service = params.text("service"), now = params.now_unix_nano()](
                      const Stores& stores, QueryBudget& budget) {
            return written_answer(run_operations(stores.spans, range, service, now, budget), budget);
          }};
}

RoutedQuery latency_route(Params& params) {
  LatencyQuery query;
  query.range = params.range().range;
  query.service = params.text("service");
  query.operation = params.text("operation");
  query.step_nano = params.duration_nano("step").value_or(0);
  query.heatmap = params.flag("heatmap");
  return {.name = "latency", .work = [query](const Stores& stores, QueryBudget& budget) {
            return written_answer(run_latency(stores.spans, query, budget), budget);
          }};
}

RoutedQuery keys_route(Params& params) {
  return {.name = "attribute_keys",
          .work = [range = params.range().range](const Stores& stores, QueryBudget& budget) -> Result<std::string> {
            auto keys = stores.spans.attribute_keys(range, budget);
            if (!keys) return keys.error();
            uint64_t bytes = 0;
            for (const std::string& one : *keys) bytes += json_text_bytes(one);
            if (auto paid = budget.spend(bytes); !paid) return paid.error();
            return keys_json(*keys);
          }};
}

RoutedQuery values_route(Params& params, std::string key) {
  ValuesQuery query{params.range().range, std::move(key), params.text("service"), params.text("prefix").value_or(""),
                    params.number("limit", 1, kMaxValues, kDefaultValues)};
  return {.name = "attribute_values",
          .work = [query = std::move(query)](const Stores& stores, QueryBudget& budget) -> Result<std::string> {
            auto values = run_values(stores.spans, query, budget);
            if (!values) return values.error();
            uint64_t bytes = 0;
            for (const store::ValueCount& one : values->values) bytes += json_text_bytes(one.value);
            if (auto paid = budget.spend(bytes); !paid) return paid.error();
            return values_json(query.key, *values);
          }};
}

Result<RoutedQuery> trace_route(Params& params, const std::string& text) {
  auto name = trace_name(text);
  if (!name) return name.error();
  const TracePage page{params.number("limit", 1, kMaxTracePageSpans, store::kTracePageSpans),
                       params.text("cursor").value_or("")};
  return RoutedQuery{.name = "trace",
                     .open_text = [name = *name, page](const Stores& stores,
                                                       QueryBudget& budget) -> Result<std::unique_ptr<TraceText>> {
                       auto id = resolve(stores, name, budget);
                       if (!id) return id.error();
                       return TraceText::open(stores, *id, budget, page);
                     }};
}

Result<RoutedQuery> find_route(std::string_view path, Params& params) {
  if (path == "/api/v1/slowest") return slowest_route(params);
  if (path == "/api/v1/services") return services_route(params);
  if (path == "/api/v1/operations") return operations_route(params);
  if (path == "/api/v1/latency") return latency_route(params);
  if (path == "/api/v1/attributes") return keys_route(params);
  if (auto key = between(path, "/api/v1/attributes/", "/values")) return values_route(params, *key);
  if (auto found = picture_route(path, params)) return *std::move(found);
  if (auto found = capture_route(path, params)) return *std::move(found);
  if (auto found = snapshot_route(path, params)) return *std::move(found);
  if (auto id = between(path, "/api/v1/traces/", "")) return trace_route(params, *id);
  return not_found("there is nothing at " + std::string(path) + "; GET / lists what there is");
}

// Marks the answer if batches of its time are lost.
void mark_losses(RoutedQuery& routed, const store::TimeRange& range) {
  if (!routed.work || routed.marks_losses || routed.content_type != RoutedQuery().content_type) return;
  routed.work = [work = std::move(routed.work), range](const Stores& stores,
                                                       QueryBudget& budget) -> Result<std::string> {
    Result<std::string> answer = work(stores, budget);
    if (!answer) return answer;
    return with_lost_batches(*std::move(answer), lost_batches(stores.spans, range));
  };
}

}  // namespace

Result<RoutedQuery> route(const net::HttpRequest& request, uint64_t now_unix_nano, uint64_t max_timeout_nano) {
  Params params(request, now_unix_nano);
  auto routed = find_route(request.path, params);
  if (!routed) return routed;
  if (params.ranged()) mark_losses(*routed, *params.ranged());
  routed->timeout_nano = params.duration_nano("timeout").value_or(0);
  if (auto read = params.finish(); !read) return read.error();
  if (routed->timeout_nano > max_timeout_nano) {
    return invalid("'timeout' may be at most " + format_duration(max_timeout_nano));
  }
  return routed;
}

}  // namespace fathom::query
