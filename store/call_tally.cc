#include "store/call_tally.h"

#include <algorithm>
#include <optional>
#include <set>

namespace fathom::store {

namespace {

ServiceKey service_of(const OperationKey& operation) {
  return {operation.service_namespace, operation.service};
}

std::optional<ServiceKey> only(const auto& services) {
  return services.size() == 1 ? std::optional(*services.begin()) : std::nullopt;
}

// Of one name in several namespaces the caller's own is meant.
std::optional<ServiceKey> near_or_only(const std::vector<ServiceKey>& services, const ServiceKey& caller) {
  const auto near = std::ranges::find(services, caller.service_namespace, &ServiceKey::service_namespace);
  return near != services.end() ? std::optional(*near) : only(services);
}

// A producer's or a client's span is the call itself; another caller's error is its own.
bool calls_itself(SpanKind kind) {
  return kind == SpanKind::kClient || kind == SpanKind::kProducer;
}

}  // namespace

std::string peer_of(const SpanView& span, const ResourceView& resource) {
  std::set<std::string> peers;
  for (const auto& attributes : {span.attributes, resource.attributes}) {
    for (const AttributeView& attribute : attributes) {
      if (attribute.key == kPeerService) peers.insert(value_text(attribute.value));
    }
  }
  return peers.empty() ? "" : *peers.begin();
}

void CallTally::Count::add(bool failed, uint64_t duration_nano) {
  ++calls;
  errors += failed;
  durations.record(duration_nano);
}

void CallTally::add(const CallSpan& caller, const CallSpan& callee) {
  const bool failed = callee.error || (caller.error && calls_itself(caller.kind));
  calls_[{caller.operation, callee.operation}].add(failed, callee.duration_nano);
}

void CallTally::add_unanswered(const CallSpan& caller, const std::string& peer) {
  unanswered_[{caller.operation, peer}].add(true, caller.duration_nano);
}

void CallTally::finish(const FindOperation& operation_of, const FindServices& services_named,
                       CallSample& sample) const {
  std::map<std::pair<ServiceKey, ServiceKey>, CallEdge> edges;
  const auto add_to = [&edges](const ServiceKey& caller, const ServiceKey& callee, const Count& count) {
    CallEdge& edge = edges[{caller, callee}];
    edge.caller = caller;
    edge.callee = callee;
    edge.calls += count.calls;
    edge.errors += count.errors;
    edge.durations.merge(count.durations);
  };
  std::map<uint64_t, std::set<ServiceKey>> reached;  // by the operation that called
  for (const auto& [operations, count] : calls_) {
    const ServiceKey callee = service_of(operation_of(operations.second));
    add_to(service_of(operation_of(operations.first)), callee, count);
    reached[operations.first].insert(callee);
  }
  for (const auto& [caller, count] : unanswered_) {
    const ServiceKey from = service_of(operation_of(caller.first));
    const auto callee =
        caller.second.empty() ? only(reached[caller.first]) : near_or_only(services_named(caller.second), from);
    if (callee && *callee != from) add_to(from, *callee, count);
    if (!callee) sample.failed_unplaced += count.calls;
  }
  for (auto& [services, edge] : edges) sample.edges.push_back(std::move(edge));
}

}  // namespace fathom::store
