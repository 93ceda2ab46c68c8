#include "node-agent/triggers/thresholds.h"

#include <algorithm>
#include <cstddef>

#include "base/hash.h"
#include "base/metrics.h"
#include "client/pool/open_spans.h"

namespace fathom::agent {

namespace {

constexpr size_t kNameBytes = sizeof(pool::OpenSpan::name);

// A namespace has no NUL that matters.
std::string service_key(std::string_view service_namespace, std::string_view service) {
  std::string key(service_namespace);
  key.push_back('\0');
  return key.append(service);
}

Counter& left_out() {
  static Counter& counter = fathom::counter("fathom_agent_lost_thresholds_total",
                                            "Thresholds of operations that a collector said and there is no room for.");
  return counter;
}

}  // namespace

uint64_t operation_hash(uint8_t kind, std::string_view begin_of_name, size_t name_bytes) {
  return hash64(begin_of_name.substr(0, kNameBytes), uint64_t{name_bytes} << 8 | kind);
}

uint64_t service_hash(std::string_view service_namespace, std::string_view service) {
  return hash64(service, hash64(service_namespace));
}

uint64_t operation_key(uint64_t service, uint64_t operation) {
  return hash64({reinterpret_cast<const char*>(&operation), sizeof operation}, service);
}

void ServiceThresholds::add(uint64_t operation, uint64_t threshold_nano) {
  uint64_t& threshold = operations_[operation];
  threshold = std::max(threshold, threshold_nano);
  smallest_nano_ = std::min(smallest_nano_, threshold_nano);
}

void Thresholds::add(std::string_view service_namespace, std::string_view service, uint64_t operation,
                     uint64_t threshold_nano) {
  auto [at, made] = services_.try_emplace(service_key(service_namespace, service), otherwise_nano_);
  at->second.add(operation, threshold_nano);
}

const ServiceThresholds& Thresholds::of(std::string_view service_namespace, std::string_view service) const {
  auto found = services_.find(service_key(service_namespace, service));
  return found == services_.end() ? others_ : found->second;
}

std::shared_ptr<const Thresholds> ThresholdBook::take(const std::vector<OperationThreshold>& operations,
                                                      bool replaces) {
  if (replaces) operations_.clear();
  for (const OperationThreshold& said : operations) {
    Key key{said.service_namespace, said.service, said.operation, said.kind};
    if (said.threshold_nano == 0) {
      operations_.erase(key);
    } else if (operations_.size() < kMostOperations || operations_.contains(key)) {
      operations_[std::move(key)] = said.threshold_nano;
    } else {
      left_out().add();
    }
  }
  return current();
}

std::shared_ptr<const Thresholds> ThresholdBook::current() const {
  const Key others;
  const auto said = operations_.find(others);
  auto made = std::make_shared<Thresholds>(said == operations_.end() ? otherwise_nano_ : said->second);
  for (const auto& [key, threshold_nano] : operations_) {
    if (key == others) continue;
    uint64_t operation = operation_hash(key.kind, key.operation, key.operation.size());
    made->add(key.service_namespace, key.service, operation, threshold_nano);
  }
  return made;
}

}  // namespace fathom::agent
