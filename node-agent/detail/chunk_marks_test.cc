#include "node-agent/detail/chunk_marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "node-agent/detail/detail_reader.h"
#include "node-agent/testing/detail_events.h"

namespace fathom::agent {
namespace {

using testing::numbered_record;
using testing::open_detail;
using testing::ScriptedDetail;

constexpr uint64_t kAllBytes = 1 << 30;

// Ticks, number, thread, the number of spans, the first span's first byte, whether the spans are certain.
using MarkedEvent = std::tuple<uint64_t, uint64_t, uint32_t, size_t, int, bool>;

std::vector<MarkedEvent> marked_events_of(const DetailSnapshot& snapshot) {
  std::vector<MarkedEvent> events;
  decode(snapshot, [&](const EventView& event) {
    const std::optional<uint64_t> number = testing::number_of(event);
    EXPECT_TRUE(number) << "torn";
    const int span = event.spans.empty() ? -1 : event.spans[0].trace_id[0];
    events.emplace_back(event.ticks, number.value_or(0), event.tid, event.spans.size(), span, event.spans_certain);
  });
  std::ranges::sort(events);
  return events;
}

// A program whose threads write events, change their spans, seal chunks, and leave holes that they sometimes fill.
class MarkWriter {
 public:
  explicit MarkWriter(uint64_t seed) : random_(seed) { testing::describe_numbered(pool_); }

  void write() {
    now_ += random_() % 50;
    const auto chunk = static_cast<uint32_t>(random_() % kChunks);
    if (pool_.state(chunk) != pool::kDetailOwned) pool_.claim(chunk, now_, 1 + chunk);
    if (!write_into(chunk)) pool_.seal(chunk, now_);
  }
  ScriptedDetail& pool() { return pool_; }
  uint64_t now() const { return now_; }
  uint64_t below(uint64_t most) { return random_() % most; }

 private:
  static constexpr uint32_t kChunks = 4;

  // False: the chunk is full.
  bool write_into(uint32_t chunk) {
    const uint64_t what = random_() % 1000;
    if (what < 2) return reserve(chunk);
    if (what < 3) return commit(), true;
    if (what < 20) return pool_.put(chunk, testing::owner_record(static_cast<uint32_t>(10 + random_() % 5), now_));
    if (what < 200) return pool_.put(chunk, testing::spans_record(now_, {static_cast<uint8_t>(random_()), 7}));
    // A signal handler may write an older event behind a younger one.
    return pool_.put(chunk, numbered_record(number_++, now_ - std::min(now_, random_() % 20), random_() % 90));
  }
  bool reserve(uint32_t chunk) {
    const std::string record = numbered_record(number_++, now_, 40);
    const uint32_t at = pool_.reserve(chunk, record.size());
    if (at + record.size() > pool_.chunk_bytes(chunk)) return false;
    pool_.write(chunk, at, record);
    holes_[chunk] = {pool_.epoch(chunk), at};
    return true;
  }
  void commit() {
    for (const auto& [chunk, hole] : holes_) {
      if (pool_.state(chunk) == pool::kDetailOwned && pool_.epoch(chunk) == hole.first)
        pool_.commit(chunk, hole.second);
    }
    holes_.clear();
  }

  std::mt19937_64 random_;
  ScriptedDetail pool_{{.large = 3, .small = 1}};
  uint64_t now_ = uint64_t{1} << 50;
  uint64_t number_ = 1;
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> holes_;  // by chunk: its epoch, and where
};

class ChunkMarksModel : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ChunkMarksModel, SnapshotsHaveTheEventsThatOneWithoutMarksHas) {
  MarkWriter writer(GetParam());
  DetailReader with_marks(open_detail(writer.pool()));
  uint64_t bytes = 0, bytes_without = 0;
  for (int round = 0; round < 60; ++round) {
    for (uint64_t i = 20 + writer.below(200); i > 0; --i) writer.write();
    const uint64_t begin = writer.now() - writer.below(20'000);
    const TickWindow window{begin, begin + writer.below(10'000), writer.now()};
    const DetailSnapshot snapshot = with_marks.snapshot(window, kAllBytes);
    DetailReader fresh(open_detail(writer.pool()));
    const DetailSnapshot expected = fresh.snapshot(window, kAllBytes);
    ASSERT_EQ(marked_events_of(snapshot), marked_events_of(expected)) << "round " << round;
    EXPECT_EQ(snapshot.missing_until_ticks, expected.missing_until_ticks);
    bytes += snapshot.bytes();
    bytes_without += expected.bytes();
  }
  EXPECT_LT(bytes, bytes_without * 3 / 4);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChunkMarksModel, ::testing::Range(uint64_t{0}, uint64_t{30}));

ChunkView view_at(std::string_view bytes, uint32_t epoch, uint64_t first_ticks) {
  return {.bytes = bytes, .epoch = epoch, .owner_tid = 1, .first_ticks = first_ticks};
}

// Committed records, as a reader copies them.
std::string put_records(ScriptedDetail& pool, uint64_t ticks, int count) {
  pool.claim(0, ticks);
  for (int i = 0; i < count; ++i)
    pool.put(0, numbered_record(static_cast<uint64_t>(i), ticks + static_cast<uint64_t>(i), 90));
  return {pool.chunk(0), pool.used(0)};
}

TEST(ChunkMarks, AreOfOneEpochAndOfOlderEvents) {
  ScriptedDetail pool;
  const std::string bytes = put_records(pool, 1000, 100);
  ChunkMarks marks(4);
  EXPECT_EQ(marks.find(0, pool.epoch(0), 2000), nullptr);
  marks.extend(0, view_at(bytes, pool.epoch(0), 1000), 0, 1100);
  const ChunkMarks::Mark* last = marks.find(0, pool.epoch(0), 2000);
  ASSERT_NE(last, nullptr);
  EXPECT_GT(last->offset, bytes.size() - 2 * ChunkMarks::kEveryBytes);
  EXPECT_EQ(marks.find(0, pool.epoch(0), 1000), nullptr) << "the first event is not older";
  const ChunkMarks::Mark* middle = marks.find(0, pool.epoch(0), 1050);
  ASSERT_NE(middle, nullptr);
  EXPECT_LT(middle->latest_ticks, 1050u);
  EXPECT_LT(middle->offset, last->offset);
  EXPECT_EQ(marks.find(0, pool.epoch(0) + 1, 2000), nullptr);
  EXPECT_EQ(marks.find(1, pool.epoch(0), 2000), nullptr);
}

// 48 bits of ticks cannot tell such records from those of a day before.
TEST(ChunkMarks, ThereAreNoneAfterALongSilence) {
  ScriptedDetail pool;
  const std::string bytes = put_records(pool, 1000, 100);
  ChunkMarks marks(1);
  marks.extend(0, view_at(bytes, pool.epoch(0), 1000), 0, 1000 + (uint64_t{1} << 48));
  EXPECT_EQ(marks.find(0, pool.epoch(0), UINT64_MAX), nullptr);
  marks.extend(0, view_at(bytes, pool.epoch(0), 1000), 0, UINT64_MAX);
  EXPECT_EQ(marks.find(0, pool.epoch(0), UINT64_MAX), nullptr) << "the time is not known";
}

}  // namespace
}  // namespace fathom::agent
