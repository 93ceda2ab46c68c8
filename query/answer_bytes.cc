#include "query/answer_bytes.h"

namespace fathom::query {

namespace {

constexpr uint64_t kCellBytes = 128;

uint64_t trait_bytes(const Trait& trait) {
  return kJsonObjectBytes + json_text_bytes(trait.service) + json_text_bytes(trait.operation) +
         json_text_bytes(trait.key) + json_text_bytes(trait.value);
}

}  // namespace

uint64_t json_bytes(const SlowestAnswer& answer) {
  uint64_t bytes = kJsonObjectBytes;
  for (const SlowestRow& row : answer.rows) {
    bytes += kJsonObjectBytes + json_text_bytes(row.service) + json_text_bytes(row.operation);
  }
  return bytes;
}

uint64_t json_bytes(const ServicesAnswer& answer) {
  uint64_t bytes = kJsonObjectBytes;
  for (const ServiceAnswer& service : answer.services) {
    bytes += kJsonObjectBytes + json_text_bytes(service.service) + json_text_bytes(service.service_namespace);
  }
  return bytes;
}

uint64_t json_bytes(const OperationsAnswer& answer) {
  uint64_t bytes = kJsonObjectBytes;
  for (const store::OperationStats& stats : answer.operations) {
    bytes += kJsonObjectBytes + json_text_bytes(stats.key.service) + json_text_bytes(stats.key.service_namespace) +
             json_text_bytes(stats.key.operation);
  }
  return bytes;
}

uint64_t json_bytes(const LatencyAnswer& answer) {
  uint64_t bytes = kJsonObjectBytes;
  for (const LatencyAnswerPoint& point : answer.points) bytes += kJsonObjectBytes + kCellBytes * point.cells.size();
  return bytes;
}

uint64_t json_bytes(const HeatmapAnswer& answer) {
  return kJsonObjectBytes + kCellBytes * (answer.bins.size() + answer.row_bounds_nano.size());
}

uint64_t json_bytes(const DifferencesAnswer& answer) {
  uint64_t bytes = kJsonObjectBytes;
  for (const Difference& difference : answer.differences) {
    bytes += kJsonObjectBytes + trait_bytes(difference.trait);
    for (const Trait& trait : difference.also) bytes += trait_bytes(trait);
    for (const std::string& value : difference.values) bytes += json_text_bytes(value);
  }
  return bytes;
}

uint64_t json_bytes(const GraphAnswer& answer) {
  uint64_t bytes = json_bytes(answer.services);
  for (const store::CallEdge& edge : answer.calls.edges) {
    bytes += kJsonObjectBytes + json_text_bytes(edge.caller.service) + json_text_bytes(edge.caller.service_namespace) +
             json_text_bytes(edge.callee.service) + json_text_bytes(edge.callee.service_namespace);
  }
  return bytes;
}

}  // namespace fathom::query
