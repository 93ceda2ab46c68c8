#include "store/index/latency_cell.h"

#include <gtest/gtest.h>

#include <random>

#include "base/ids.h"

namespace fathom::store {
namespace {

LatencyCell random_cell(std::mt19937_64& random) {
  LatencyCell cell;
  for (uint64_t i = random() % 200; i > 0; --i) cell.record(random() >> (random() % 64), random() % 3 == 0);
  return cell;
}

std::string encoded_cell(const LatencyCell& cell) {
  std::string out;
  cell.encode(out);
  return out;
}

TEST(LatencyCell, CountsFailedSpansAmongAll) {
  LatencyCell cell;
  cell.record(10, false);
  cell.record(20, true);
  EXPECT_EQ(cell.errors, 1u);
  EXPECT_EQ(cell.durations.count(), 2u);
}

TEST(LatencyCell, MergesInAnyOrderAndComesBackFromItsBytes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 100; ++round) {
    LatencyCell a = random_cell(random);
    LatencyCell b = random_cell(random);
    LatencyCell ab = a;
    ab.merge(b);
    LatencyCell ba = b;
    ba.merge(a);
    ASSERT_EQ(ab, ba);
    ASSERT_EQ(ab.errors, a.errors + b.errors);
    std::string bytes = encoded_cell(ab);
    ASSERT_EQ(LatencyCell::decode(bytes).value(), ab);
    for (size_t cut = 0; cut < bytes.size(); ++cut) ASSERT_FALSE(LatencyCell::decode(bytes.substr(0, cut)).ok());
    ASSERT_FALSE(LatencyCell::decode(bytes + '\0').ok());
  }
}

TEST(LatencyCell, ErrorsNeverExceedACountThatSaturates) {
  LatencyCell cell;
  cell.durations.record(1, UINT64_MAX);
  cell.errors = UINT64_MAX;
  LatencyCell more;
  more.record(1, true);
  cell.merge(more);
  EXPECT_EQ(cell.errors, UINT64_MAX);
  EXPECT_EQ(LatencyCell::decode(encoded_cell(cell)).value(), cell);
}

TEST(LatencyCell, HasTheseBytes) {
  LatencyCell cell;
  cell.record(1, true);
  cell.record(1, false);
  EXPECT_EQ(to_hex(encoded_cell(cell)),
            "0101"
            "01010200");
}

TEST(LatencyCell, RefusesForgedBytes) {
  auto refused = [](std::string_view bytes) {
    Result<LatencyCell> decoded = LatencyCell::decode(bytes);
    return !decoded.ok() && decoded.error().code == ErrorCode::kCorrupt;
  };
  EXPECT_FALSE(refused(std::string_view("\x01\x02\x01\x01\x02\x00", 6)));
  EXPECT_TRUE(refused(std::string_view("\x02\x02\x01\x01\x02\x00", 6))) << "another version";
  EXPECT_TRUE(refused(std::string_view("\x01\x03\x01\x01\x02\x00", 6))) << "more errors than spans";
  EXPECT_TRUE(refused(std::string_view("\x01\x02\x01\x01\x00\x00", 6))) << "an empty bucket";
}

}  // namespace
}  // namespace fathom::store
