// Catalogue: the numbers of operations and services, all in memory, with its rows in the data directory.
//
// Purpose: indexes and columns carry a 32-bit number for (service namespace, service, span name, kind). Limits are
// applied here: beyond `operations_per_service` an operation becomes "__other__" of its service, beyond `services` a
// service becomes "__other__", and beyond `bytes` both do. Only what is in use counts against the first two: an
// operation that no live partition has spans of is retired, and forgotten once no reader can ask for it. Numbers are
// never given to another operation. New numbers are handed out before they are durable: take_pending() gives the rows
// that must be written together with the first batch that uses them. Thread safety: all of it. Errors: none but damage
// at restore(); limits degrade, and say which one it was.
#pragma once

#include <atomic>
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

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "base/result.h"
#include "store/span_store.h"

namespace fathom::store {

struct CatalogueLimits {
  uint32_t operations_per_service = 1000;
  uint32_t services = 10'000;
  uint64_t bytes = 64 << 20;  // of names, and what keeping them costs
};

class Catalogue {
  struct Entry;

 public:
  using Row = std::pair<uint32_t, std::string>;

  // Operations whose spans are on their way into a partition; they are not retired while this lives. Those whose spans
  // did not arrive, and that nothing else uses, are retired with it: what is refused takes nobody's place.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept { *this = std::move(other); }
    Hold& operator=(Hold&& other) noexcept {
      std::swap(catalogue_, other.catalogue_);
      std::swap(entries_, other.entries_);
      return *this;
    }
    ~Hold() {
      if (catalogue_ != nullptr) catalogue_->release(entries_);
    }
    // Their spans are in this partition now.
    void used_in(uint32_t partition) const;

   private:
    friend class Catalogue;
    void add(Catalogue& catalogue, Entry& entry);

    Catalogue* catalogue_ = nullptr;
    std::vector<Entry*> entries_;
  };

  struct Number {
    uint32_t id = 0;
    const char* limit = nullptr;  // the limit that made it "__other__", as in fathom_limited_total
  };

  explicit Catalogue(const CatalogueLimits& limits);
  ~Catalogue();

  // The number of an operation, given out at first sight.
  Number intern(std::string_view service_namespace, std::string_view service, std::string_view name, SpanKind kind,
                Hold& hold);
  // For names to come: those that are in use stay, and count.
  void set_limits(const CatalogueLimits& limits);
  // Rows that are not yet written.
  std::vector<Row> take_pending();

  // A row read at start; rows come in the order of their numbers. True when it is of the current version.
  Result<bool> restore(uint32_t id, std::string_view row);
  // Numbers below this were given out, though their rows may be gone.
  void restore_next(uint32_t next);
  std::vector<Row> rows() const;
  // A live partition has spans of it. True when that is news.
  bool mark_used(uint32_t id, uint32_t partition);

  // Operations that are only used in partitions before `oldest` count no longer; they keep their names.
  void retire(uint32_t oldest);
  bool has_retired() const;
  // Gives back what is retired, when nobody asks for it any more; the numbers whose rows may be deleted.
  std::vector<uint32_t> forget_retired();
  uint32_t next() const;
  uint64_t bytes() const;

  OperationKey operation(uint32_t id) const;
  uint32_t service_of(uint32_t id) const;  // a service is numbered by its first operation
  std::vector<uint32_t> services_named(std::string_view service) const;
  // Of this name, in whatever namespace, that spans are stored of; by namespace.
  std::vector<ServiceKey> services_in_use(std::string_view service) const;
  // Operations that match, ascending; nothing given matches everything.
  std::vector<uint32_t> operations(const std::optional<std::string>& service,
                                   const std::optional<std::string>& operation) const;

 private:
  struct Key {
    std::string_view service_namespace;
    std::string_view service;
    std::string_view name;
    SpanKind kind;
    bool operator==(const Key&) const = default;
  };
  struct Service {
    const std::string service_namespace;
    const std::string name;
    const uint32_t number;
    uint32_t entries = 0;
    uint32_t in_use = 0;  // without "__other__"
  };
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(const Key& key) const;
    size_t operator()(const Entry* entry) const;
  };
  struct KeyEqual {
    using is_transparent = void;
    bool operator()(const Entry* a, const Entry* b) const { return a == b; }
    bool operator()(const Key& key, const Entry* entry) const;
    bool operator()(const Entry* entry, const Key& key) const { return (*this)(key, entry); }
  };
  using ServiceName = std::pair<std::string_view, std::string_view>;

  static Key key_of(const Entry& entry);
  static std::string encode(const Entry& entry);
  Entry* find(const Key& key) const;
  const Entry* at(uint32_t id) const;
  Service* find_service(const Key& key) const;
  Service& add_service(const Key& key, uint32_t number);
  Entry& add(const Key& key, Service& service, uint32_t id);
  Entry& insert(const Key& key);
  Entry& use(const Key& key);
  const char* limit_for(const Key& key) const;
  void set_retired(Entry& entry, bool retired);
  void release(const std::vector<Entry*>& entries);
  void count(const Entry& entry, bool in_use);
  void remove(Entry& entry);

  mutable std::shared_mutex mutex_;
  CatalogueLimits limits_;
  uint32_t next_ = 0;
  uint64_t bytes_ = 0;
  uint32_t services_in_use_ = 0;  // without "__other__"
  uint32_t retired_ = 0;
  boost::unordered_flat_map<uint32_t, std::unique_ptr<Entry>> entries_;
  boost::unordered_flat_set<Entry*, KeyHash, KeyEqual> by_key_;
  std::unordered_map<uint32_t, Service> services_;  // by number
  std::map<ServiceName, Service*> by_name_;         // the newest of a name
  std::vector<uint32_t> pending_;
};

}  // namespace fathom::store
