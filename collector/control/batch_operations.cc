#include "collector/control/batch_operations.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/hash.h"
#include "collector/control/decayed_histogram.h"
#include "store/block/process_seed.h"

namespace fathom::collector {

namespace {

constexpr size_t kLeastTable = 16;

uint64_t duration_nano(const store::Batch::Row& row) {
  return row.end_unix_nano > row.start_unix_nano ? row.end_unix_nano - row.start_unix_nano : 0;
}

bool same(const BatchOperations::Operation& operation, const store::Batch::Row& row) {
  return operation.name == row.name && operation.resource == row.resource && operation.kind == row.kind;
}

}  // namespace

const BatchOperations::Secret& BatchOperations::secret() {
  static const uint64_t kSeed = store::block::process_seed();
  static const Secret kSecret{kSeed, hash64("", kSeed) | 1};
  return kSecret;
}

size_t BatchOperations::place_of(const store::Batch::Row& row, const Secret& secret) {
  uint64_t key = uint64_t{row.resource} << 32 | row.name;
  uint64_t mixed = (key ^ secret.mask) * secret.multiplier + static_cast<uint64_t>(row.kind);
  return (mixed ^ mixed >> 32) * 0xbf58476d1ce4e5b9ULL >> 20;
}

uint32_t BatchOperations::operation_of(const store::Batch::Row& row) {
  size_t mask = table_.size() - 1;
  for (size_t at = place_of(row, secret_) & mask;; at = (at + 1) & mask) {
    if (table_[at] == 0) {
      operations_.push_back({row.resource, row.name, row.kind});
      return (table_[at] = static_cast<uint32_t>(operations_.size())) - 1;
    }
    if (same(operations_[table_[at] - 1], row)) return table_[at] - 1;
  }
}

void BatchOperations::group(const store::Batch& batch) {
  const std::vector<store::Batch::Row>& rows = batch.rows();
  operations_.clear();
  table_.assign(std::max(kLeastTable, std::bit_ceil(2 * rows.size())), 0);
  of_row_.clear();
  for (const store::Batch::Row& row : rows) {
    of_row_.push_back(operation_of(row));
    ++operations_[of_row_.back()].end;  // a count, until all are counted
  }
  uint32_t begin = 0;
  for (Operation& operation : operations_) {
    begin += std::exchange(operation.end, begin);
    operation.begin = operation.end;
  }
  buckets_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    buckets_[operations_[of_row_[i]].end++] =
        static_cast<uint16_t>(DecayedHistogram::bucket_of(duration_nano(rows[i])));
  }
}

}  // namespace fathom::collector
