// verify_store() on oversized traces: no list has them, and tallies stand for their rows.
#include <gtest/gtest.h>

#include "store/rocks/database.h"
#include "store/rocks/keys.h"
#include "store/rocks/sealed.h"
#include "store/testing/rocks_rig.h"
#include "store/verify/verify.h"

namespace fathom::store::testing {
namespace {

RocksOptions small_oversized_limits() {
  RocksOptions options;
  options.durability = Durability::kOs;
  options.oversized = {.spans = 10, .segments = 100};
  return options;
}

class RocksVerifyOversized : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(rig_.open(), ""); }

  // Four spans of trace 1 and an ordinary trace in each of these segments, and one segment per partition.
  void add_segments(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      std::vector<TestSpan> spans = {test_span(1000 + spans_, 1, 0, 7)};
      for (uint64_t j = 0; j < 4; ++j) {
        ++spans_;
        spans.push_back(test_span(1, spans_, static_cast<int64_t>(spans_), 10));
      }
      ASSERT_EQ(append_once(rig_.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
      ASSERT_TRUE(rig_.store().settle().ok());
      rig_.advance(kNanosPerHour);
    }
  }
  std::string damages() {
    rig_.close();
    Findings findings;
    EXPECT_TRUE(verify_store(rig_.path(), findings).ok());
    std::string text;
    for (const Damage& damage : findings.damages()) text += damage.part + ": " + damage.reason + "\n";
    return text;
  }
  // Of trace 1, in the trace index; `change` makes it wrong.
  template <typename Change>
  void change_newest_part(Change change) {
    rig_.close();
    Result<std::unique_ptr<Database>> opened = Database::open(rig_.options(), std::make_shared<const LivePartitions>());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    Database& database = **opened;
    std::unique_ptr<rocksdb::Iterator> rows(
        database.db().NewIterator(rocksdb::ReadOptions(), database.family(Family::kTrace)));
    rows->SeekForPrev(keys::trace(test_trace_id(1), UINT32_MAX, UINT32_MAX));
    ASSERT_TRUE(rows->Valid());
    Result<TracePart> part = decode_trace_part_value(rows->value().ToStringView());
    ASSERT_TRUE(part.ok() && part->tallies);
    change(*part);
    ASSERT_TRUE(
        database.db()
            .Put(rocksdb::WriteOptions(), database.family(Family::kTrace), rows->key(), encode_trace_part(*part))
            .ok());
  }

  RocksRig rig_{small_oversized_limits()};
  uint64_t spans_ = 0;
};

TEST_F(RocksVerifyOversized, AnIntactDirectoryHasNoFindings) {
  add_segments(6);
  EXPECT_EQ(damages(), "");
}

TEST_F(RocksVerifyOversized, ADirectoryAfterADropHasNoFindings) {
  add_segments(6);
  ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano() - 4 * kNanosPerHour).ok());
  EXPECT_EQ(damages(), "");
}

TEST_F(RocksVerifyOversized, AWrongTallyOfAPartIsFound) {
  add_segments(6);
  change_newest_part([](TracePart& part) { ++part.tallies->own.spans; });
  EXPECT_NE(damages().find("its tally is not that of its spans"), std::string::npos);
}

TEST_F(RocksVerifyOversized, AWrongSumIsFound) {
  add_segments(6);
  change_newest_part([](TracePart& part) { ++part.tallies->whole.end_unix_nano; });
  EXPECT_NE(damages().find("its tally is not the sum of its segments' tallies"), std::string::npos);
}

TEST_F(RocksVerifyOversized, AWrongSummaryIsFound) {
  add_segments(6);
  change_newest_part([](TracePart& part) { ++part.summary.spans; });
  EXPECT_NE(damages().find("its summary is not that of its tally"), std::string::npos);
}

}  // namespace
}  // namespace fathom::store::testing
