#include "query/answers_json.h"

#include "query/counted.h"

namespace fathom::query {

namespace {

using net::JsonWriter;

void write_row(JsonWriter& json, const SlowestRow& row) {
  json.begin_object();
  json.member("trace_id", std::string_view(row.trace_id.hex()));
  json.member("span_id", std::string_view(row.span_id.hex()));
  json.member("service", std::string_view(row.service));
  json.member("operation", std::string_view(row.operation));
  json.member("start_time_unix_nano", std::string_view(std::to_string(row.start_unix_nano)));
  json.member("duration_nano", row.duration_nano);
  json.member("root_duration_nano", row.root_duration_nano);
  json.member("complete", row.complete);
  json.member("error", row.error);
  json.member("spans", row.spans).member("captures", row.captures).member("snapshots", row.snapshots);
  json.member("stepped", row.stepped);
  if (row.oversized) json.member("oversized", true);
  json.end_object();
}

void write_service(JsonWriter& json, const ServiceAnswer& service) {
  json.begin_object();
  json.member("service", std::string_view(service.service));
  json.member("service_namespace", std::string_view(service.service_namespace));
  json.member("operations", service.operations).member("spans", service.spans).member("errors", service.errors);
  write_percentiles(json, service.durations);
  json.end_object();
}

void write_operation(JsonWriter& json, const store::OperationStats& operation) {
  json.begin_object();
  json.member("service", std::string_view(operation.key.service));
  json.member("service_namespace", std::string_view(operation.key.service_namespace));
  json.member("operation", std::string_view(operation.key.operation));
  json.member("kind", store::span_kind_name(operation.key.kind));
  json.member("spans", operation.spans).member("errors", operation.errors);
  write_percentiles(json, operation.durations);
  json.end_object();
}

void write_cells(JsonWriter& json, const std::vector<HeatmapCell>& cells) {
  json.begin_array();
  for (const HeatmapCell& cell : cells) {
    json.begin_object().member("low_nano", cell.low_nano).member("high_nano", cell.high_nano);
    json.member("count", cell.count).end_object();
  }
  json.end_array();
}

void write_point(JsonWriter& json, const LatencyAnswerPoint& answer) {
  json.begin_object();
  json.member("start_time_unix_nano", std::string_view(std::to_string(answer.point.start_unix_nano)));
  json.member("count", answer.point.durations.count()).member("errors", answer.point.errors);
  write_percentiles(json, answer.point.durations);
  if (!answer.cells.empty()) write_cells(json.key("cells"), answer.cells);
  json.end_object();
}

// One object with one array in it: the shape of every list. `more` writes what else it has.
template <typename Items, typename Write, typename More>
std::string list_json(std::string_view name, const Items& items, Write write, More more) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key(name).begin_array();
  for (const auto& item : items) write(json, item);
  json.end_array();
  more(json);
  json.end_object();
  return out += "\n";
}

}  // namespace

void write_percentiles(JsonWriter& json, const store::Histogram& durations) {
  json.member("p50_nano", durations.quantile_nano(0.5));
  json.member("p90_nano", durations.quantile_nano(0.9));
  json.member("p95_nano", durations.quantile_nano(0.95));
  json.member("p99_nano", durations.quantile_nano(0.99));
  json.member("p999_nano", durations.quantile_nano(0.999));
  json.member("max_nano", durations.max_nano());
}

std::string to_json(const SlowestAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("rows").begin_array();
  for (const auto& row : answer.rows) write_row(json, row);
  json.end_array();
  json.member("next_cursor", std::string_view(answer.next_cursor)).end_object();
  return out += "\n";
}

std::string to_json(const ServicesAnswer& answer) {
  return list_json("services", answer.services, write_service,
                   [&](JsonWriter& json) { write_counted(json, answer.counted); });
}

std::string to_json(const OperationsAnswer& answer) {
  return list_json("operations", answer.operations, write_operation,
                   [&](JsonWriter& json) { write_counted(json, answer.counted); });
}

std::string to_json(const LatencyAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("step_nano", answer.step_nano).key("points").begin_array();
  for (const auto& point : answer.points) write_point(json, point);
  json.end_array().end_object();
  return out += "\n";
}

std::string keys_json(const std::vector<std::string>& keys) {
  return list_json(
      "keys", keys, [](JsonWriter& json, const std::string& key) { json.string(key); }, [](JsonWriter&) {});
}

std::string values_json(const std::string& key, const ValuesAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("key", std::string_view(key)).key("values").begin_array();
  for (const auto& value : answer.values) {
    json.begin_object().member("value", std::string_view(value.value)).member("spans", value.spans).end_object();
  }
  json.end_array().member("estimated", answer.estimated).end_object();
  return out += "\n";
}

std::string status_json(const std::string& version, bool ready, const store::StoreStats& stats,
                        const std::optional<LostBatches>& lost) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("version", std::string_view(version)).member("ready", ready);
  json.key("store").begin_object();
  json.member("writable", stats.writable).member("spans_stored", stats.spans_stored);
  json.member("spans_unsealed", stats.spans_unsealed).member("segments", stats.segments);
  json.member("disk_bytes", stats.disk_bytes).member("memory_bytes", stats.memory_bytes);
  json.end_object();
  write_lost_batches(json, lost);
  json.end_object();
  return out += "\n";
}

}  // namespace fathom::query
