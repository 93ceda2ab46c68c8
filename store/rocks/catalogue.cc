#include "store/rocks/catalogue.h"

#include <cassert>
#include <mutex>

#include "base/bytes.h"
#include "store/rocks/counters.h"

namespace fathom::store {

namespace {

constexpr uint8_t kRowVersion = 1;

std::string encode_row(std::string_view service_namespace, std::string_view service, std::string_view name,
                       SpanKind kind) {
  std::string row;
  ByteWriter out(row);
  out.u8(kRowVersion);
  out.u8(static_cast<uint8_t>(kind));
  out.string(service_namespace);
  out.string(service);
  out.string(name);
  return row;
}

std::optional<OperationKey> decode_row(std::string_view row) {
  ByteReader in(row);
  if (in.u8() != kRowVersion) return std::nullopt;
  OperationKey key;
  key.kind = static_cast<SpanKind>(in.u8());
  key.service_namespace = in.string();
  key.service = in.string();
  key.operation = in.string();
  if (in.failed() || !in.at_end() || key.kind > SpanKind::kConsumer) return std::nullopt;
  return key;
}

std::string encode_row(const OperationKey& key) {
  return encode_row(key.service_namespace, key.service, key.operation, key.kind);
}

}  // namespace

Catalogue::Catalogue(uint32_t operations_per_service, uint32_t services)
    : operations_per_service_(operations_per_service), max_services_(services) {}

uint32_t Catalogue::intern(std::string_view service_namespace, std::string_view service, std::string_view name,
                           SpanKind kind) {
  std::string row = encode_row(service_namespace, service, name, kind);
  {
    std::shared_lock lock(mutex_);
    auto found = numbers_.find(row);
    if (found != numbers_.end()) return found->second;
  }
  std::unique_lock lock(mutex_);
  auto found = numbers_.find(row);
  if (found != numbers_.end()) return found->second;
  return insert_limited(service_namespace, service, name, kind);
}

uint32_t Catalogue::insert_limited(std::string_view service_namespace, std::string_view service, std::string_view name,
                                   SpanKind kind) {
  auto known = services_.find({std::string(service_namespace), std::string(service)});
  if (known == services_.end() && services_.size() >= max_services_) {
    limited_parts("services").add();
    return find_or_insert({"", std::string(kOtherOperation), std::string(kOtherOperation), SpanKind::kUnspecified});
  }
  if (known != services_.end() && known->second.operations >= operations_per_service_) {
    limited_parts("operations_per_service").add();
    return find_or_insert(
        {std::string(service_namespace), std::string(service), std::string(kOtherOperation), SpanKind::kUnspecified});
  }
  return insert({std::string(service_namespace), std::string(service), std::string(name), kind});
}

uint32_t Catalogue::find_or_insert(OperationKey key) {
  auto found = numbers_.find(encode_row(key));
  return found != numbers_.end() ? found->second : insert(std::move(key));
}

uint32_t Catalogue::insert(OperationKey key) {
  uint32_t id = static_cast<uint32_t>(entries_.size());
  std::string row = encode_row(key);
  Service& service = services_[{key.service_namespace, key.service}];
  if (service.operations == 0) service.first_operation = id;
  ++service.operations;
  entries_.push_back(std::make_unique<Entry>(Entry{std::move(key), service.first_operation}));
  numbers_.emplace(row, id);
  pending_.emplace_back(id, std::move(row));
  return id;
}

Result<> Catalogue::restore(uint32_t id, std::string_view row) {
  std::unique_lock lock(mutex_);
  std::optional<OperationKey> key = decode_row(row);
  if (!key || id != entries_.size()) return corrupt("the catalogue of operations is damaged at " + std::to_string(id));
  insert(std::move(*key));
  pending_.clear();
  return {};
}

std::vector<std::pair<uint32_t, std::string>> Catalogue::take_pending() {
  std::unique_lock lock(mutex_);
  return std::exchange(pending_, {});
}

const OperationKey& Catalogue::operation(uint32_t id) const {
  static const OperationKey kUnknown{"", "unknown_service", "", SpanKind::kUnspecified};
  std::shared_lock lock(mutex_);
  return id < entries_.size() ? entries_[id]->key : kUnknown;
}

uint32_t Catalogue::service_of(uint32_t id) const {
  std::shared_lock lock(mutex_);
  return id < entries_.size() ? entries_[id]->service : 0;
}

std::vector<uint32_t> Catalogue::services_named(std::string_view service) const {
  std::shared_lock lock(mutex_);
  std::vector<uint32_t> found;
  for (const auto& [key, value] : services_) {
    if (key.second == service) found.push_back(value.first_operation);
  }
  return found;
}

std::vector<uint32_t> Catalogue::operations(const std::optional<std::string>& service,
                                            const std::optional<std::string>& operation) const {
  std::shared_lock lock(mutex_);
  std::vector<uint32_t> found;
  for (uint32_t id = 0; id < entries_.size(); ++id) {
    const OperationKey& key = entries_[id]->key;
    if (service && key.service != *service) continue;
    if (operation && key.operation != *operation) continue;
    found.push_back(id);
  }
  return found;
}

}  // namespace fathom::store
