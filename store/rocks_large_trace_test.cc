#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "store/rocks/large_trace.h"

namespace fathom::store {
namespace {

SpanId large_span(uint64_t number) {
  SpanId id;
  for (size_t i = 0; i < 8; ++i) id.bytes[i] = static_cast<uint8_t>(number >> (8 * i));
  return id;
}

// Several rows for each reception; receptions have gaps, as between the batches of one trace.
std::vector<TraceRow> random_rows(uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TraceRow> rows;
  for (uint64_t sequence = 3; rows.size() < 500; sequence += 1 + random() % 3) {
    for (uint64_t i = 0; i <= random() % 4; ++i) {
      rows.push_back({.span_id = large_span(1 + random() % 400),
                      .parent_span_id = random() % 20 == 0 ? SpanId{} : large_span(1 + random() % 400),
                      .start_unix_nano = 1000 + random() % 5000,
                      .duration_nano = random() % 3000,
                      .sequence = sequence,
                      .operation = static_cast<uint32_t>(random() % 5),
                      .error = random() % 200 == 0});
    }
  }
  return rows;
}

TraceTally tally_up_to(const std::vector<TraceRow>& rows, uint64_t last_sequence) {
  TraceTally tally;
  for (const TraceRow& row : rows) {
    if (row.sequence <= last_sequence) tally.add(row);
  }
  return tally;
}

std::string tally_bytes(const TraceTally& tally) {
  std::string bytes;
  write_tally(tally, bytes);
  return bytes;
}

TEST(LargeTrace, HasTheTallyAfterEachReception) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const std::vector<TraceRow> rows = random_rows(seed);
    LargeTrace large(seed % 2 == 0);
    for (const TraceRow& row : rows) large.add(row);
    EXPECT_TRUE(large.tally(rows.front().sequence - 1).empty());
    for (uint64_t sequence = rows.front().sequence; sequence <= rows.back().sequence + 1; ++sequence) {
      ASSERT_EQ(tally_bytes(large.tally(sequence)), tally_bytes(tally_up_to(rows, sequence)))
          << "seed " << seed << ", reception " << sequence;
    }
    EXPECT_EQ(tally_bytes(large.tally()), tally_bytes(tally_up_to(rows, UINT64_MAX)));
  }
}

}  // namespace
}  // namespace fathom::store
