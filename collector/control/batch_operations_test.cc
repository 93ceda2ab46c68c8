#include "collector/control/batch_operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace fathom::collector {
namespace {

constexpr size_t kTable = 1 << 15;

// Of 16,000 operations of a batch, the most that have one place.
size_t most_at_one_place(const std::vector<store::Batch::Row>& rows, const BatchOperations::Secret& secret) {
  std::vector<size_t> at(kTable);
  size_t most = 0;
  for (const store::Batch::Row& row : rows) {
    most = std::max(most, ++at[BatchOperations::place_of(row, secret) % kTable]);
  }
  return most;
}

// A batch made for one secret, as if it were known, is none for another.
TEST(BatchOperations, NobodyCanMakeABatchWhoseOperationsAreAllAtOnePlace) {
  const BatchOperations::Secret known{0, 0x9e3779b97f4a7c15ULL};
  std::vector<store::Batch::Row> rows;
  for (uint32_t number = 0; rows.size() < 1000; ++number) {
    store::Batch::Row row{};
    row.resource = number / 16'000;
    row.name = number % 16'000;
    if (BatchOperations::place_of(row, known) % kTable < 8) rows.push_back(row);
  }
  EXPECT_GE(most_at_one_place(rows, known), 125u);
  std::mt19937_64 random(5);
  for (int i = 0; i < 20; ++i) {
    EXPECT_LE(most_at_one_place(rows, {random(), random() | 1}), 20u) << i;
  }
  EXPECT_NE(BatchOperations::secret().mask, 0u);
  EXPECT_EQ(BatchOperations::secret().mask, BatchOperations::secret().mask) << "one for the process";
}

// Operations that differ in one thing only, as those of honest batches do, spread under every secret.
TEST(BatchOperations, NumbersInARowSpread) {
  std::mt19937_64 random(6);
  std::vector<store::Batch::Row> names(16'000), resources(16'000);
  for (uint32_t i = 0; i < names.size(); ++i) names[i].name = resources[i].resource = i;
  for (int i = 0; i < 20; ++i) {
    const BatchOperations::Secret secret{random(), random() | 1};
    EXPECT_LE(most_at_one_place(names, secret), 32u);
    EXPECT_LE(most_at_one_place(resources, secret), 32u);
  }
}

}  // namespace
}  // namespace fathom::collector
