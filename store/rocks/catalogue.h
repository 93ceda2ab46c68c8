// Catalogue: the numbers of operations and services, small and all in memory, with its rows in the data directory.
//
// Purpose: indexes and columns carry a 32-bit number for (service namespace, service, span name, kind). Limits are
// applied here: beyond `operations_per_service` an operation becomes "__other__" of its service, beyond `services` a
// service becomes "__other__"; both are counted. New numbers are handed out before they are durable: take_pending()
// gives the rows that must be written together with the first batch that uses them. Thread safety: all of it. Errors:
// none; limits degrade.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/span_store.h"

namespace fathom::store {

class Catalogue {
 public:
  Catalogue(uint32_t operations_per_service, uint32_t services);

  // The number of an operation, given out at first sight.
  uint32_t intern(std::string_view service_namespace, std::string_view service, std::string_view name, SpanKind kind);
  // A row read at start; rows come in the order of their numbers.
  Result<> restore(uint32_t id, std::string_view row);
  // Rows that are not yet written: (id, row).
  std::vector<std::pair<uint32_t, std::string>> take_pending();

  const OperationKey& operation(uint32_t id) const;  // stays valid: entries never move
  uint32_t service_of(uint32_t id) const;            // a service is numbered by its first operation
  std::vector<uint32_t> services_named(std::string_view service) const;
  // Operations that match; nothing given matches everything.
  std::vector<uint32_t> operations(const std::optional<std::string>& service,
                                   const std::optional<std::string>& operation) const;

 private:
  struct Service {
    uint32_t first_operation = 0;
    uint32_t operations = 0;
  };
  struct Entry {
    OperationKey key;
    uint32_t service = 0;
  };
  uint32_t insert(OperationKey key);
  uint32_t insert_limited(std::string_view service_namespace, std::string_view service, std::string_view name,
                          SpanKind kind);
  uint32_t find_or_insert(OperationKey key);

  const uint32_t operations_per_service_;
  const uint32_t max_services_;
  mutable std::shared_mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_map<std::string, uint32_t> numbers_;  // by the encoded row
  std::map<std::pair<std::string, std::string>, Service> services_;
  std::vector<std::pair<uint32_t, std::string>> pending_;
};

}  // namespace fathom::store
