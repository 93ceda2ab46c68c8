// Thresholds: how long an operation may take before a capture is worthwhile.
//
// Purpose: what a collector has learned (ControlHandler::thresholds), as an immutable table. Its readers keep a pointer
// to it; a later table replaces it. An operation is known by its kind and by what a slot of open spans has of its name:
// the length and the first 88 bytes. Operations that agree in these share the larger threshold. Thread safety:
// Thresholds is constant; ThresholdBook belongs to one thread. Errors: none; operations beyond kMostOperations are
// counted and ignored. Units: nanoseconds; kNever if nothing is too long.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "node-agent/control.h"

namespace fathom::agent {

inline constexpr uint64_t kNever = UINT64_MAX;

// `begin_of_name`: at least the first 88 bytes, or the whole name.
uint64_t operation_hash(uint8_t kind, std::string_view begin_of_name, size_t name_bytes);
// Identifies an operation among all services: `service` is service_hash(), `operation` is operation_hash().
uint64_t service_hash(std::string_view service_namespace, std::string_view service);
uint64_t operation_key(uint64_t service, uint64_t operation);

class ServiceThresholds {
 public:
  explicit ServiceThresholds(uint64_t otherwise_nano)
      : otherwise_nano_(otherwise_nano), smallest_nano_(otherwise_nano) {}
  void add(uint64_t operation, uint64_t threshold_nano);

  uint64_t of(uint64_t operation) const {
    auto found = operations_.find(operation);
    return found == operations_.end() ? otherwise_nano_ : found->second;
  }
  // No operation of this service has a smaller threshold.
  uint64_t smallest_nano() const { return smallest_nano_; }

 private:
  std::unordered_map<uint64_t, uint64_t> operations_;
  uint64_t otherwise_nano_;
  uint64_t smallest_nano_;
};

class Thresholds {
 public:
  // `otherwise_nano`: for operations without a known threshold.
  explicit Thresholds(uint64_t otherwise_nano = kNever) : others_(otherwise_nano), otherwise_nano_(otherwise_nano) {}
  void add(std::string_view service_namespace, std::string_view service, uint64_t operation, uint64_t threshold_nano);
  const ServiceThresholds& of(std::string_view service_namespace, std::string_view service) const;

 private:
  std::unordered_map<std::string, ServiceThresholds> services_;
  ServiceThresholds others_;
  uint64_t otherwise_nano_;
};

class ThresholdBook {
 public:
  static constexpr size_t kMostOperations = 100'000;

  explicit ThresholdBook(uint64_t otherwise_nano) : otherwise_nano_(otherwise_nano) {}
  // As ControlHandler::thresholds(). An entry without names and kind applies to all other operations. Returns the table
  // that now applies.
  std::shared_ptr<const Thresholds> take(const std::vector<OperationThreshold>& operations, bool replaces);
  std::shared_ptr<const Thresholds> current() const;
  size_t size() const { return operations_.size(); }

 private:
  struct Key {
    std::string service_namespace;
    std::string service;
    std::string operation;
    uint8_t kind = 0;
    auto operator<=>(const Key&) const = default;
  };

  std::map<Key, uint64_t> operations_;
  const uint64_t otherwise_nano_;
};

}  // namespace fathom::agent
