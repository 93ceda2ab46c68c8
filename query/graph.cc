#include "query/graph.h"

#include "net/json_writer.h"
#include "query/answers_json.h"
#include "query/counted.h"

namespace fathom::query {

namespace {

constexpr uint64_t kSpansLookedAt = 100'000;

void scale(uint64_t& count, const store::CallSample& sample) {
  if (sample.spans_looked_at == 0) return;
  count = static_cast<uint64_t>(static_cast<unsigned __int128>(count) * sample.spans / sample.spans_looked_at);
}

void write_graph_service(net::JsonWriter& json, const ServiceAnswer& service) {
  json.begin_object().member("service", std::string_view(service.service));
  json.member("service_namespace", std::string_view(service.service_namespace));
  json.member("spans", service.spans).member("errors", service.errors);
  write_percentiles(json, service.durations);
  json.end_object();
}

void write_edge(net::JsonWriter& json, const store::CallEdge& edge) {
  json.begin_object().member("caller", std::string_view(edge.caller.service));
  json.member("caller_namespace", std::string_view(edge.caller.service_namespace));
  json.member("callee", std::string_view(edge.callee.service));
  json.member("callee_namespace", std::string_view(edge.callee.service_namespace));
  json.member("calls", edge.calls).member("errors", edge.errors);
  write_percentiles(json, edge.durations);
  json.end_object();
}

}  // namespace

Result<GraphAnswer> run_graph(store::SpanStore& store, const store::TimeRange& range, uint64_t now_unix_nano,
                              store::QueryBudget& budget) {
  auto services = run_services(store, range, now_unix_nano, budget);
  if (!services) return services.error();
  auto calls = store.calls(whole_minutes(range), kSpansLookedAt, budget);
  if (!calls) return calls.error();
  for (store::CallEdge& edge : calls->edges) {
    scale(edge.calls, *calls);
    scale(edge.errors, *calls);
  }
  scale(calls->failed_unplaced, *calls);
  return GraphAnswer{*std::move(services), *std::move(calls)};
}

std::string to_json(const GraphAnswer& answer) {
  std::string out;
  net::JsonWriter json(out);
  json.begin_object().key("services").begin_array();
  for (const ServiceAnswer& service : answer.services.services) write_graph_service(json, service);
  json.end_array().key("edges").begin_array();
  for (const store::CallEdge& edge : answer.calls.edges) write_edge(json, edge);
  json.end_array().member("failed_unplaced", answer.calls.failed_unplaced);
  json.member("traces_looked_at", answer.calls.traces_looked_at);
  json.member("traces", answer.calls.traces);
  write_counted(json, answer.services.counted);
  json.end_object();
  return out += "\n";
}

}  // namespace fathom::query
