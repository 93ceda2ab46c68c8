#include "query/proto_convert.h"

#include <algorithm>

#include "base/time.h"
#include "query/conditions.h"

namespace fathom::query {

namespace {

Result<size_t> rows_of(uint32_t asked, size_t otherwise, size_t most) {
  if (asked > most) return invalid("limit may be at most " + std::to_string(most));
  return asked == 0 ? otherwise : asked;
}

Result<store::Compare> compare_of(v1::Compare compare) {
  using store::Compare;
  switch (compare) {
    case v1::COMPARE_EQUAL:
      return Compare::kEqual;
    case v1::COMPARE_NOT_EQUAL:
      return Compare::kNotEqual;
    case v1::COMPARE_GREATER:
      return Compare::kGreater;
    case v1::COMPARE_AT_LEAST:
      return Compare::kAtLeast;
    case v1::COMPARE_LESS:
      return Compare::kLess;
    case v1::COMPARE_AT_MOST:
      return Compare::kAtMost;
    case v1::COMPARE_EXISTS:
      return Compare::kExists;
    case v1::COMPARE_LACKS:
      return Compare::kLacks;
    default:
      return invalid("compare must be one of the values of proto/query.proto; " + std::to_string(compare) + " is none");
  }
}

Result<store::By> by_of(const v1::SlowestRequest& request) {
  const bool spans = request.by() == v1::BY_SPAN;
  if (!request.once_per_trace()) return spans ? store::By::kSpan : store::By::kTrace;
  if (!spans) return invalid("once_per_trace goes with BY_SPAN: by trace every row is another one anyway");
  return store::By::kSpanOfTrace;
}

Result<std::vector<store::Condition>> conditions_of(const v1::SlowestRequest& request) {
  std::vector<store::Condition> conditions;
  for (const auto& condition : request.where()) {
    auto compare = compare_of(condition.compare());
    if (!compare) return compare.error();
    auto read = condition_of(condition.key(), condition.value(), *compare);
    if (!read) return read.error();
    conditions.push_back(*std::move(read));
  }
  return conditions;
}

Result<Kept> kept_from_proto(v1::Kept kept) {
  switch (kept) {
    case v1::KEPT_NO_MATTER:
      return Kept::kNoMatter;
    case v1::KEPT_CAPTURED:
      return Kept::kCaptured;
    case v1::KEPT_RECORDED:
      return Kept::kRecorded;
    case v1::KEPT_ANY:
      return Kept::kAny;
    default:
      return invalid("kept must be one of the values of proto/query.proto; " + std::to_string(kept) + " is none");
  }
}

// The summaries of services and operations have these fields in common.
template <typename Summary>
void fill_durations(Summary& out, uint64_t spans, uint64_t errors, const store::Histogram& durations) {
  out.set_spans(spans);
  out.set_errors(errors);
  out.set_p50_nano(durations.quantile_nano(0.5));
  out.set_p99_nano(durations.quantile_nano(0.99));
  out.set_max_nano(durations.max_nano());
}

template <typename Response>
void fill_counted(Response& out, const store::TimeRange& counted) {
  out.set_counted_from_unix_nano(counted.from_unix_nano);
  out.set_counted_to_unix_nano(counted.to_unix_nano);
}

void fill_row(v1::SlowRow& out, const SlowestRow& row) {
  out.set_trace_id(std::string(row.trace_id.view()));
  out.set_span_id(std::string(row.span_id.view()));
  out.set_service(row.service);
  out.set_operation(row.operation);
  out.set_start_time_unix_nano(row.start_unix_nano);
  out.set_duration_nano(row.duration_nano);
  out.set_root_duration_nano(row.root_duration_nano);
  out.set_complete(row.complete);
  out.set_oversized(row.oversized);
  out.set_error(row.error);
  out.set_spans(row.spans);
  out.set_captures(row.captures);
  out.set_snapshots(row.snapshots);
  out.set_stepped(row.stepped);
}

void fill_point(v1::LatencyPoint& out, const LatencyAnswerPoint& answer) {
  const store::Histogram& durations = answer.point.durations;
  out.set_start_unix_nano(answer.point.start_unix_nano);
  out.set_count(durations.count());
  out.set_errors(answer.point.errors);
  out.set_p50_nano(durations.quantile_nano(0.5));
  out.set_p90_nano(durations.quantile_nano(0.9));
  out.set_p95_nano(durations.quantile_nano(0.95));
  out.set_p99_nano(durations.quantile_nano(0.99));
  out.set_p999_nano(durations.quantile_nano(0.999));
  out.set_max_nano(durations.max_nano());
  for (const HeatmapCell& cell : answer.cells) {
    auto& filled = *out.add_cells();
    filled.set_low_nano(cell.low_nano);
    filled.set_high_nano(cell.high_nano);
    filled.set_count(cell.count);
  }
}

}  // namespace

std::optional<std::string> text_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

Result<AskedRange> range_of(const v1::TimeRange& range, uint64_t now_unix_nano) {
  if (range.from_unix_nano() == 0 && range.to_unix_nano() == 0) {
    return AskedRange{{now_unix_nano - std::min(now_unix_nano, kNanosPerHour), now_unix_nano}, "0..0"};
  }
  uint64_t to = range.to_unix_nano() == 0 ? now_unix_nano : range.to_unix_nano();
  if (range.from_unix_nano() > to) return invalid("from_unix_nano must not be after to_unix_nano");
  return AskedRange{{range.from_unix_nano(), to},
                    std::to_string(range.from_unix_nano()) + ".." + std::to_string(range.to_unix_nano())};
}

Result<SlowestQuery> query_of(const v1::SlowestRequest& request, uint64_t now_unix_nano) {
  SlowestQuery query;
  auto asked = range_of(request.range(), now_unix_nano);
  if (!asked) return asked.error();
  auto conditions = conditions_of(request);
  if (!conditions) return conditions.error();
  auto limit = rows_of(request.limit(), kDefaultRows, kMaxRows);
  if (!limit) return limit.error();
  auto by = by_of(request);
  if (!by) return by.error();
  auto kept = kept_from_proto(request.kept());
  if (!kept) return kept.error();
  query.filter.range = asked->range;
  query.range_text = asked->text;
  query.filter.service = text_of(request.service());
  query.filter.operation = text_of(request.operation());
  query.filter.where = *std::move(conditions);
  query.filter.errors = request.errors();
  query.filter.min_duration_nano = request.min_duration_nano();
  if (request.max_duration_nano() > 0) query.filter.max_duration_nano = request.max_duration_nano();
  query.by = *by;
  query.kept = *kept;
  query.limit = *limit;
  query.cursor = request.cursor();
  return query;
}

Result<LatencyQuery> query_of(const v1::LatencyRequest& request, uint64_t now_unix_nano) {
  auto asked = range_of(request.range(), now_unix_nano);
  if (!asked) return asked.error();
  return LatencyQuery{.range = asked->range,
                      .service = text_of(request.service()),
                      .operation = text_of(request.operation()),
                      .step_nano = request.step_nano(),
                      .heatmap = request.heatmap()};
}

Result<TraceId> trace_id_of(const v1::TraceRequest& request) {
  auto id = TraceId::from_bytes(request.trace_id());
  if (!id || id->is_zero()) return invalid("a trace id is 16 bytes, not all of them zero");
  return *id;
}

Result<TracePage> page_of(const v1::TraceRequest& request) {
  auto limit = rows_of(request.limit(), store::kTracePageSpans, kMaxTracePageSpans);
  if (!limit) return limit.error();
  return TracePage{*limit, request.cursor()};
}

void fill(v1::SlowestResponse& out, const SlowestAnswer& answer) {
  for (const auto& row : answer.rows) fill_row(*out.add_rows(), row);
  out.set_next_cursor(answer.next_cursor);
}

void fill(v1::ServicesResponse& out, const ServicesAnswer& answer) {
  fill_counted(out, answer.counted);
  for (const auto& service : answer.services) {
    auto& filled = *out.add_services();
    filled.set_service_namespace(service.service_namespace);
    filled.set_service(service.service);
    fill_durations(filled, service.spans, service.errors, service.durations);
  }
}

void fill(v1::OperationsResponse& out, const OperationsAnswer& answer) {
  fill_counted(out, answer.counted);
  for (const auto& operation : answer.operations) {
    auto& filled = *out.add_operations();
    filled.set_service(operation.key.service);
    filled.set_service_namespace(operation.key.service_namespace);
    filled.set_operation(operation.key.operation);
    filled.set_kind(std::string(store::span_kind_name(operation.key.kind)));
    fill_durations(filled, operation.spans, operation.errors, operation.durations);
  }
}

void fill(v1::AttributeKeysResponse& out, const std::vector<std::string>& keys) {
  for (const auto& key : keys) out.add_keys(key);
}

void fill(v1::AttributeValuesResponse& out, const ValuesAnswer& answer) {
  out.set_estimated(answer.estimated);
  for (const auto& value : answer.values) {
    auto& filled = *out.add_values();
    filled.set_value(value.value);
    filled.set_spans(value.spans);
  }
}

void fill(v1::LostBatches& out, const LostBatches& lost) {
  out.set_losses(lost.losses);
  out.set_first_received_unix_nano(lost.first_received_unix_nano);
  out.set_last_received_unix_nano(lost.last_received_unix_nano);
  if (lost.most_batches) out.set_most_batches(*lost.most_batches);
}

void fill(v1::LatencyResponse& out, const LatencyAnswer& answer) {
  out.set_step_nano(answer.step_nano);
  for (const auto& point : answer.points) fill_point(*out.add_points(), point);
}

}  // namespace fathom::query
