// Which part of a range counts are of: what the store may have spans of, up to now.
#include "query/counted.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "store/model/memory_store.h"

namespace fathom::query {
namespace {

constexpr uint64_t kStart = 1'795'221'000'000'000'000;  // a whole minute

uint64_t at(double minutes) {
  return kStart + static_cast<uint64_t>(minutes * 60) * kNanosPerSecond;
}

class CountedTest : public ::testing::Test {
 protected:
  void add(double received_minute, double start_minute) {
    received_ = at(received_minute);
    store::SpanView span;
    span.trace_id.bytes[0] = 1;
    span.span_id.bytes[0] = ++spans_;
    span.start_unix_nano = at(start_minute);
    span.end_unix_nano = span.start_unix_nano + 1;
    store::BatchBuilder builder;
    builder.add(span);
    store_.append(builder.finish(), [](const store::AppendResult&) {});
  }
  // From and to in seconds after the first minute.
  std::string counted(double from_minute, double to_minute, double now_minute) {
    store::QueryBudget budget;
    auto range = counted_time(store_, {at(from_minute), at(to_minute)}, at(now_minute), budget);
    if (!range) return range.error().message;
    const auto seconds = [](uint64_t nano) { return std::to_string((nano - kStart) / kNanosPerSecond); };
    return seconds(range->from_unix_nano) + ".." + seconds(range->to_unix_nano);
  }

  uint64_t received_ = 0;
  uint8_t spans_ = 0;
  store::MemoryStore store_{{.now_unix_nano = [this] { return received_; }}};
};

TEST_F(CountedTest, WholeMinutesUpToNow) {
  EXPECT_EQ(counted(0, 10, 20), "0..600") << "where nothing is stored, nothing is known";
  EXPECT_EQ(counted(0.5, 1.5, 20), "0..120");
  EXPECT_EQ(counted(0.5, 1.5, 1.75), "0..105");
  EXPECT_EQ(counted(0, 600, 2), "0..120");
  EXPECT_EQ(counted(3, 4, 2), "180..240") << "ahead of our clock";
}

TEST_F(CountedTest, FromTheFirstSpanOn) {
  add(5, 4.75);
  add(7, 6);
  EXPECT_EQ(counted(0, 10, 8), "285..480");
  EXPECT_EQ(counted(4.75, 10, 8), "285..480");
  EXPECT_EQ(counted(5.5, 10, 8), "300..480") << "received before";
  EXPECT_EQ(counted(0, 1, 8), "60..60") << "ended before";
}

// Imported: what was received late may tell of earlier.
TEST_F(CountedTest, FromTheFirstSpanOnWheneverItCame) {
  add(600, 2);
  add(601, 3);
  EXPECT_EQ(counted(0, 10, 602), "120..600");
  EXPECT_EQ(counted(2.5, 10, 602), "120..600");
}

// Whose clock is wrong by years does not make the time longer.
TEST_F(CountedTest, AStrangersClockDoesNotCount) {
  received_ = at(5);
  add(5, 4.75);
  store::SpanView wrong;
  wrong.trace_id.bytes[0] = 2;
  wrong.span_id.bytes[0] = 1;
  wrong.start_unix_nano = 1;
  wrong.end_unix_nano = 2;
  store::BatchBuilder builder;
  builder.add(wrong);
  store_.append(builder.finish(), [](const store::AppendResult&) {});
  EXPECT_EQ(counted(0, 10, 8), "285..480");
}

// What retention dropped is not there to be counted.
TEST_F(CountedTest, FromTheBeginOfWhatIsKept) {
  add(5, 4.75);
  add(200, 199);
  ASSERT_TRUE(store_.drop_before(at(150)).ok());
  EXPECT_EQ(counted(0, 300, 250), "11940..15000");
}

}  // namespace
}  // namespace fathom::query
