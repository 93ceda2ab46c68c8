#include "store/verify/row_scan.h"
#include "store/rocks/scan_options.h"

#include <algorithm>
#include <optional>

namespace fathom::store {

namespace {

// Of a key's bytes after the tenant: enough to tell apart the rows of every family.
constexpr size_t kCountedBytes = 20;
constexpr size_t kCountedBits = 8 * kCountedBytes;
constexpr size_t kTenantBytes = 4;

// The key plus 2^bit, its first bytes being a big-endian number; nothing beyond the greatest number.
std::optional<std::string> plus_power(std::string key, size_t bit) {
  key.resize(kTenantBytes + kCountedBytes, '\0');
  uint32_t carry = 1U << (bit % 8);
  for (size_t at = kTenantBytes + kCountedBytes - 1 - bit / 8; carry != 0; --at) {
    if (at < kTenantBytes) return std::nullopt;
    const uint32_t sum = static_cast<uint8_t>(key[at]) + carry;
    key[at] = static_cast<char>(sum & 0xff);
    carry = sum >> 8;
  }
  return key;
}

class GapFinder {
 public:
  GapFinder(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, const rocksdb::ReadOptions& options)
      : db_(db), family_(family), options_(options) {}

  // A key to go on from: the least that can be read behind `key`, found by doubling steps and then halving them.
  std::optional<std::string> find_behind(std::string key) {
    size_t bit = 0;
    std::optional<std::string> next;
    for (; bit < kCountedBits; ++bit) {
      next = plus_power(key, bit);
      if (!next || can_read(*next)) break;
    }
    if (!next || bit == kCountedBits) return std::nullopt;
    while (bit-- > 0) {
      next = plus_power(key, bit);
      if (next && !can_read(*next)) key = *next;
    }
    return plus_power(key, 0);
  }

 private:
  bool can_read(const std::string& key) {
    std::unique_ptr<rocksdb::Iterator> rows(db_.NewIterator(options_, family_));
    rows->Seek(key);
    return rows->status().ok();
  }

  rocksdb::DB& db_;
  rocksdb::ColumnFamilyHandle* family_;
  const rocksdb::ReadOptions options_;
};

rocksdb::ReadOptions gapless_options() {
  rocksdb::ReadOptions options = scan_options();
  options.total_order_seek = true;
  options.fill_cache = false;
  return options;
}

}  // namespace

void RowScan::run(Database& database, Family family, const std::string& begin, const std::string& end,
                  const Visit& visit, const OnGap& on_gap) {
  const rocksdb::ReadOptions options = gapless_options();
  GapFinder gaps(database.db(), database.family(family), options);
  std::optional<RowGap> gap;
  std::string last;
  for (std::optional<std::string> from = begin; from;) {
    std::unique_ptr<rocksdb::Iterator> rows(database.db().NewIterator(options, database.family(family)));
    for (rows->Seek(*from); rows->Valid(); rows->Next()) {
      const std::string_view key = rows->key().ToStringView();
      if (!end.empty() && key >= end) break;
      last = key;
      if (gap) {
        gap->before = last;
        on_gap(*gap);
        gap.reset();
      }
      visit(key, rows->value().ToStringView());
    }
    if (rows->status().ok()) break;
    if (!gap) gap = RowGap{last, "", rows->status().ToString()};
    from = gaps.find_behind(std::max(*from, last));
    if (from && !end.empty() && *from >= end) break;
  }
  if (gap) on_gap(*gap);
}

}  // namespace fathom::store
