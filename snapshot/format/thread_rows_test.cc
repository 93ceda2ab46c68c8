#include "snapshot/format/thread_rows.h"

#include <gtest/gtest.h>

namespace fathom::snapshot {
namespace {

Sideband numbered(SidebandKind kind, int32_t tid, uint64_t tsc, uint64_t number) {
  Sideband row;
  row.kind = kind;
  row.tid = tid;
  row.tsc = tsc;
  row.length = number;
  row.text = "name " + std::to_string(number);
  return row;
}

std::vector<uint64_t> numbers_of(const std::vector<const Sideband*>& rows) {
  std::vector<uint64_t> numbers;
  for (const Sideband* row : rows) numbers.push_back(row->length);
  return numbers;
}

TEST(ThreadRows, AreThoseOfOneThreadInTheOrderOfTime) {
  Snapshot snapshot;
  EXPECT_TRUE(ThreadRows(snapshot).of(7).empty());
  snapshot.sideband = {
      numbered(SidebandKind::kSystemCall, 7, 300, 1), numbered(SidebandKind::kLockWait, 7, 100, 2),
      numbered(SidebandKind::kSystemCall, 9, 50, 3),  numbered(SidebandKind::kStepped, 7, 900, 4),
      numbered(SidebandKind::kSystemCall, 7, 100, 5), numbered(SidebandKind::kLockWait, -1, 20, 6),
  };
  const ThreadRows rows(snapshot);
  EXPECT_EQ(numbers_of(rows.of(7)), (std::vector<uint64_t>{2, 5, 1})) << "at 100 in the order of recording";
  EXPECT_EQ(numbers_of(rows.of(9)), (std::vector<uint64_t>{3}));
  EXPECT_TRUE(rows.of(8).empty());
  EXPECT_EQ(numbers_of(rows.lock_waits()), (std::vector<uint64_t>{2, 6}));
  EXPECT_EQ(rows.end_tsc(), 901U);
  snapshot.sideband[3].tsc = UINT64_MAX;
  EXPECT_EQ(ThreadRows(snapshot).end_tsc(), UINT64_MAX);
}

TEST(ThreadRows, TheNewestNameIsTheLastThatWasRecorded) {
  Snapshot snapshot;
  snapshot.sideband = {numbered(SidebandKind::kName, 7, 100, 1), numbered(SidebandKind::kName, 9, 0, 2),
                       numbered(SidebandKind::kName, 7, 0, 3)};
  const ThreadRows rows(snapshot);
  EXPECT_EQ(rows.newest_name(7), "name 3");
  EXPECT_EQ(rows.newest_name(9), "name 2");
  EXPECT_EQ(rows.newest_name(8), "");
}

}  // namespace
}  // namespace fathom::snapshot
