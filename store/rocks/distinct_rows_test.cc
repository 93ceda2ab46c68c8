#include "store/rocks/distinct_rows.h"

#include <gtest/gtest.h>

#include "store/testing/span_builder.h"

namespace fathom::store {
namespace {

using testing::test_span_id;
using testing::test_trace_id;

TraceRow row_of(uint64_t span, uint64_t parent, uint64_t sequence = 1) {
  TraceRow row;
  row.span_id = test_span_id(span);
  if (parent > 0) row.parent_span_id = test_span_id(parent);
  row.start_unix_nano = 1000 + span;
  row.duration_nano = 10;
  row.sequence = sequence;
  return row;
}

DistinctRowsPtr with_rows(uint64_t count) {
  auto rows = std::make_unique<DistinctRows>(DistinctRows::Sealed{}, false);
  for (uint64_t i = 1; i <= count; ++i) rows->add(row_of(i, 0), 0);
  return rows;
}

TEST(DistinctRows, EqualContentsCountOnce) {
  DistinctRows rows({}, true);
  EXPECT_TRUE(rows.add(row_of(1, 0), 100));
  EXPECT_TRUE(rows.add(row_of(1, 0, 2), 100));
  EXPECT_EQ(rows.rows(), 1u);
  EXPECT_TRUE(rows.add(row_of(1, 0, 3), 101));
  EXPECT_TRUE(rows.add(row_of(1, 0, 4), 101));
  EXPECT_EQ(rows.rows(), 2u) << "one id, two contents";
  EXPECT_EQ(rows.last_sequence(), 4u);
  EXPECT_EQ(rows.summary().first_sequence, 1u);
}

TEST(DistinctRows, WithoutContentsARepeatedIdIsNotAdded) {
  DistinctRows rows({}, false);
  EXPECT_TRUE(rows.add(row_of(1, 0), 0));
  EXPECT_FALSE(rows.add(row_of(1, 0, 2), 0));
  EXPECT_EQ(rows.rows(), 1u);
  EXPECT_EQ(rows.last_sequence(), 1u);
}

TEST(DistinctRows, AreCompleteWhenAllParentsAreAmongThem) {
  DistinctRows rows({}, true);
  rows.add(row_of(2, 1), 2);
  EXPECT_FALSE(rows.summary().complete);
  rows.add(row_of(1, 0), 1);
  EXPECT_TRUE(rows.summary().complete);
  rows.add(row_of(3, 4), 3);
  EXPECT_FALSE(rows.summary().complete);
}

TEST(DistinctRowsCache, KeepsTheMostRecentWithinItsBytes) {
  const uint64_t bytes = with_rows(1000)->memory_bytes();
  DistinctRowsCache cache(3 * bytes);
  for (uint64_t i = 1; i <= 10; ++i) {
    cache.put(test_trace_id(i), with_rows(1000));
    EXPECT_LE(cache.memory_bytes(), 3 * bytes);
  }
  EXPECT_EQ(cache.take(test_trace_id(7)), nullptr);
  DistinctRowsPtr kept = cache.take(test_trace_id(8));
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->rows(), 1000u);
  EXPECT_EQ(cache.take(test_trace_id(8)), nullptr) << "another query has it";
  cache.put(test_trace_id(8), std::move(kept));
  cache.put(test_trace_id(8), with_rows(10));
  EXPECT_EQ(cache.take(test_trace_id(8))->rows(), 10u);
}

}  // namespace
}  // namespace fathom::store
