#include "store/rocks/catalogue.h"

#include <algorithm>
#include <mutex>

#include "base/bytes.h"
#include "base/hash.h"
#include "store/block/process_seed.h"

namespace fathom::store {

namespace {

constexpr uint8_t kRowVersion = 2;
constexpr uint8_t kRowWithoutService = 1;  // before numbers were given back: a service's number was its lowest row's
constexpr uint64_t kEntryCost = 128;       // beside the name itself
constexpr uint64_t kServiceCost = 256;

struct DecodedRow {
  SpanKind kind = SpanKind::kUnspecified;
  std::optional<uint32_t> service_number;
  std::string_view service_namespace;
  std::string_view service;
  std::string_view name;
};

std::optional<DecodedRow> decode_row(std::string_view row) {
  ByteReader in(row);
  DecodedRow decoded;
  uint8_t version = in.u8();
  if (version != kRowVersion && version != kRowWithoutService) return std::nullopt;
  decoded.kind = static_cast<SpanKind>(in.u8());
  if (version == kRowVersion) decoded.service_number = in.varint32();
  decoded.service_namespace = in.string();
  decoded.service = in.string();
  decoded.name = in.string();
  if (in.failed() || !in.at_end() || decoded.kind > SpanKind::kConsumer) return std::nullopt;
  return decoded;
}

bool is_other_service(std::string_view service_namespace, std::string_view service) {
  return service_namespace.empty() && service == kOtherOperation;
}

Error damaged(uint32_t id) {
  return corrupt("the catalogue of operations is damaged at " + std::to_string(id));
}

}  // namespace

struct Catalogue::Entry {
  Entry(uint32_t number, SpanKind of_kind, Service& of_service, std::string_view named)
      : id(number), kind(of_kind), service(of_service), name(named) {}

  bool is_other() const { return kind == SpanKind::kUnspecified && name == kOtherOperation; }

  const uint32_t id;
  const SpanKind kind;
  bool retired = false;
  Service& service;
  const std::string name;
  std::atomic<uint32_t> last_partition{0};  // that has spans of it
  std::atomic<uint32_t> holds{0};
};

size_t Catalogue::KeyHash::operator()(const Key& key) const {
  uint64_t hash = hash64(key.service_namespace, block::process_seed() + static_cast<uint64_t>(key.kind));
  return hash64(key.name, hash64(key.service, hash));
}

size_t Catalogue::KeyHash::operator()(const Entry* entry) const {
  return (*this)(key_of(*entry));
}

bool Catalogue::KeyEqual::operator()(const Key& key, const Entry* entry) const {
  return key == key_of(*entry);
}

void Catalogue::Hold::add(Catalogue& catalogue, Entry& entry) {
  catalogue_ = &catalogue;
  entry.holds.fetch_add(1, std::memory_order_relaxed);
  entries_.push_back(&entry);
}

void Catalogue::Hold::used_in(uint32_t partition) const {
  // One thread fills partitions, and their numbers only grow.
  for (Entry* entry : entries_) entry->last_partition.store(partition, std::memory_order_relaxed);
}

Catalogue::Catalogue(const CatalogueLimits& limits) : limits_(limits) {}

Catalogue::~Catalogue() = default;

Catalogue::Key Catalogue::key_of(const Entry& entry) {
  return {entry.service.service_namespace, entry.service.name, entry.name, entry.kind};
}

std::string Catalogue::encode(const Entry& entry) {
  std::string row;
  ByteWriter out(row);
  out.u8(kRowVersion);
  out.u8(static_cast<uint8_t>(entry.kind));
  out.varint(entry.service.number);
  out.string(entry.service.service_namespace);
  out.string(entry.service.name);
  out.string(entry.name);
  return row;
}

Catalogue::Entry* Catalogue::find(const Key& key) const {
  auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : *found;
}

const Catalogue::Entry* Catalogue::at(uint32_t id) const {
  auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.get();
}

Catalogue::Service* Catalogue::find_service(const Key& key) const {
  auto found = by_name_.find({key.service_namespace, key.service});
  return found == by_name_.end() ? nullptr : found->second;
}

Catalogue::Number Catalogue::intern(std::string_view service_namespace, std::string_view service, std::string_view name,
                                    SpanKind kind, Hold& hold) {
  Key key{service_namespace, service, name, kind};
  {
    std::shared_lock lock(mutex_);
    Entry* known = find(key);
    if (known != nullptr && !known->retired) {
      hold.add(*this, *known);
      return {known->id};
    }
  }
  std::unique_lock lock(mutex_);
  const char* limit = limit_for(key);
  if (limit != nullptr) {
    bool own_other = find_service(key) != nullptr;
    if (!own_other) key.service_namespace = "", key.service = kOtherOperation;
    key.name = kOtherOperation;
    key.kind = SpanKind::kUnspecified;
  }
  Entry& entry = use(key);
  hold.add(*this, entry);
  return {entry.id, limit};
}

void Catalogue::set_limits(const CatalogueLimits& limits) {
  std::unique_lock lock(mutex_);
  limits_ = limits;
}

// What is retired counts anew when it comes again; its names are still there.
const char* Catalogue::limit_for(const Key& key) const {
  const Entry* known = find(key);
  if (known != nullptr && !known->retired) return nullptr;
  const Service* service = find_service(key);
  bool new_service =
      (service == nullptr || service->in_use == 0) && !is_other_service(key.service_namespace, key.service);
  if (new_service && services_in_use_ >= limits_.services) return "services";
  if (service != nullptr && service->in_use >= limits_.operations_per_service) return "operations_per_service";
  if (known != nullptr) return nullptr;
  uint64_t cost = key.name.size() + kEntryCost;
  if (service == nullptr) cost += key.service_namespace.size() + key.service.size() + kServiceCost;
  return bytes_ + cost > limits_.bytes ? "catalogue_bytes" : nullptr;
}

Catalogue::Entry& Catalogue::use(const Key& key) {
  Entry* known = find(key);
  if (known == nullptr) return insert(key);
  set_retired(*known, false);
  return *known;
}

void Catalogue::release(const std::vector<Entry*>& entries) {
  auto arrived = [](const Entry* entry) { return entry->last_partition.load(std::memory_order_relaxed) != 0; };
  if (std::ranges::all_of(entries, arrived)) {
    for (Entry* entry : entries) entry->holds.fetch_sub(1, std::memory_order_release);
    return;
  }
  std::unique_lock lock(mutex_);
  for (Entry* entry : entries) {
    bool last = entry->holds.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (last && !arrived(entry)) set_retired(*entry, true);
  }
}

void Catalogue::set_retired(Entry& entry, bool retired) {
  if (std::exchange(entry.retired, retired) == retired) return;
  retired_ += retired ? 1 : -1;
  count(entry, !retired);
}

Catalogue::Service& Catalogue::add_service(const Key& key, uint32_t number) {
  auto [at, inserted] =
      services_.try_emplace(number, Service{std::string(key.service_namespace), std::string(key.service), number});
  Service& service = at->second;
  ServiceName name{service.service_namespace, service.name};
  by_name_.erase(name);  // its key points into the older service of this name
  by_name_.emplace(name, &service);
  bytes_ += service.service_namespace.size() + service.name.size() + kServiceCost;
  return service;
}

Catalogue::Entry& Catalogue::add(const Key& key, Service& service, uint32_t id) {
  next_ = std::max(next_, id + 1);
  auto [at, inserted] = entries_.emplace(id, std::make_unique<Entry>(id, key.kind, service, key.name));
  Entry& entry = *at->second;
  ++service.entries;
  bytes_ += entry.name.size() + kEntryCost;
  // Only after a crash between forgetting an operation and deleting its row can there be an older one of this name;
  // nothing uses that, so it is retired at once.
  if (Entry* older = find(key)) by_key_.erase(older);
  by_key_.insert(&entry);
  count(entry, true);
  return entry;
}

Catalogue::Entry& Catalogue::insert(const Key& key) {
  uint32_t id = next_;
  Service* service = find_service(key);
  Entry& entry = add(key, service != nullptr ? *service : add_service(key, id), id);
  pending_.push_back(id);
  return entry;
}

void Catalogue::count(const Entry& entry, bool in_use) {
  if (entry.is_other()) return;
  Service& service = entry.service;
  uint32_t before = service.in_use;
  service.in_use += in_use ? 1 : -1;
  if (before != 0 && service.in_use != 0) return;
  if (!is_other_service(service.service_namespace, service.name)) services_in_use_ += in_use ? 1 : -1;
}

std::vector<Catalogue::Row> Catalogue::take_pending() {
  {
    std::shared_lock lock(mutex_);
    if (pending_.empty()) return {};
  }
  std::unique_lock lock(mutex_);
  std::vector<Row> taken;
  for (uint32_t id : std::exchange(pending_, {})) {
    if (const Entry* entry = at(id)) taken.emplace_back(id, encode(*entry));
  }
  return taken;
}

Result<bool> Catalogue::restore(uint32_t id, std::string_view row) {
  std::unique_lock lock(mutex_);
  std::optional<DecodedRow> decoded = decode_row(row);
  if (!decoded || id == UINT32_MAX || at(id) != nullptr) return damaged(id);
  Key key{decoded->service_namespace, decoded->service, decoded->name, decoded->kind};
  Service* service = find_service(key);
  if (decoded->service_number) {
    auto numbered = services_.find(*decoded->service_number);
    service = numbered == services_.end() ? &add_service(key, *decoded->service_number) : &numbered->second;
    if (service->service_namespace != key.service_namespace || service->name != key.service) return damaged(id);
  }
  add(key, service != nullptr ? *service : add_service(key, id), id);
  return decoded->service_number.has_value();
}

void Catalogue::restore_next(uint32_t next) {
  std::unique_lock lock(mutex_);
  next_ = std::max(next_, next);
}

std::vector<Catalogue::Row> Catalogue::rows() const {
  std::shared_lock lock(mutex_);
  std::vector<Row> all;
  for (const auto& [id, entry] : entries_) all.emplace_back(id, encode(*entry));
  return all;
}

bool Catalogue::mark_used(uint32_t id, uint32_t partition) {
  std::shared_lock lock(mutex_);
  auto found = entries_.find(id);
  if (found == entries_.end() || found->second->last_partition.load(std::memory_order_relaxed) >= partition) {
    return false;
  }
  return found->second->last_partition.exchange(partition, std::memory_order_relaxed) == 0;
}

void Catalogue::retire(uint32_t oldest) {
  std::unique_lock lock(mutex_);
  for (const auto& [id, entry] : entries_) {
    // Whoever gave up a hold had told the partition before.
    if (entry->retired || entry->holds.load(std::memory_order_acquire) != 0) continue;
    if (entry->last_partition.load(std::memory_order_relaxed) >= std::max(oldest, 1u)) continue;
    set_retired(*entry, true);
  }
}

std::vector<uint32_t> Catalogue::forget_retired() {
  if (!has_retired()) return {};
  std::unique_lock lock(mutex_);
  std::vector<uint32_t> forgotten;
  for (const auto& [id, entry] : entries_) {
    if (entry->retired) forgotten.push_back(id);
  }
  for (uint32_t id : forgotten) remove(*entries_.find(id)->second);
  if (!forgotten.empty()) {
    entries_.rehash(0);
    by_key_.rehash(0);
  }
  return forgotten;
}

void Catalogue::remove(Entry& entry) {
  Service& service = entry.service;
  retired_ -= entry.retired ? 1 : 0;
  if (find(key_of(entry)) == &entry) by_key_.erase(&entry);
  bytes_ -= entry.name.size() + kEntryCost;
  entries_.erase(entry.id);
  if (--service.entries != 0) return;
  bytes_ -= service.service_namespace.size() + service.name.size() + kServiceCost;
  auto named = by_name_.find({service.service_namespace, service.name});
  if (named != by_name_.end() && named->second == &service) by_name_.erase(named);
  services_.erase(service.number);
}

bool Catalogue::has_retired() const {
  std::shared_lock lock(mutex_);
  return retired_ > 0;
}

uint32_t Catalogue::next() const {
  std::shared_lock lock(mutex_);
  return next_;
}

uint64_t Catalogue::bytes() const {
  std::shared_lock lock(mutex_);
  return bytes_;
}

OperationKey Catalogue::operation(uint32_t id) const {
  std::shared_lock lock(mutex_);
  const Entry* entry = at(id);
  if (entry == nullptr) return {"", "unknown_service", "", SpanKind::kUnspecified};
  return {entry->service.service_namespace, entry->service.name, entry->name, entry->kind};
}

uint32_t Catalogue::service_of(uint32_t id) const {
  std::shared_lock lock(mutex_);
  const Entry* entry = at(id);
  return entry == nullptr ? 0 : entry->service.number;
}

std::vector<uint32_t> Catalogue::services_named(std::string_view service) const {
  std::shared_lock lock(mutex_);
  std::vector<uint32_t> found;
  for (const auto& [number, known] : services_) {
    if (known.name == service) found.push_back(number);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<ServiceKey> Catalogue::services_in_use(std::string_view service) const {
  std::shared_lock lock(mutex_);
  std::vector<ServiceKey> found;
  for (const auto& [number, known] : services_) {
    if (known.name == service && known.in_use > 0) found.push_back({known.service_namespace, known.name});
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<uint32_t> Catalogue::operations(const std::optional<std::string>& service,
                                            const std::optional<std::string>& operation) const {
  std::shared_lock lock(mutex_);
  std::vector<uint32_t> found;
  for (const auto& [id, entry] : entries_) {
    if (service && entry->service.name != *service) continue;
    if (operation && entry->name != *operation) continue;
    found.push_back(id);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace fathom::store
