#include "node-agent/detail/record_walk.h"

#include <gtest/gtest.h>

#include <random>

#include "node-agent/testing/scripted_detail.h"

namespace fathom::agent {
namespace {

using testing::detail_record;
using testing::long_detail_record;
using testing::owner_record;
using testing::pad_record;
using testing::raw;
using testing::spans_record;

constexpr uint32_t kEpoch = 0x1234567;

std::string committed(std::string record, uint32_t epoch = kEpoch) {
  std::memcpy(record.data() + pool::kEpochOffset, &epoch, sizeof epoch);
  return record;
}
std::string event(uint64_t ticks, uint32_t number) {
  return committed(detail_record(16, ticks, raw(number)));
}

struct Seen {
  uint64_t ticks;
  uint32_t number;
  uint32_t tid;
  std::vector<int> spans;
  bool certain;
  bool operator==(const Seen&) const = default;
};

class Walked {
 public:
  explicit Walked(const std::string& bytes, ChunkView chunk = {.owner_tid = 5, .first_ticks = 1000}) {
    chunk.bytes = bytes;
    chunk.epoch = kEpoch;
    RecordWalk walk(chunk);
    DetailRecord record;
    while (walk.next(record)) take(record);
    counts = walk.counts();
    end = walk.end();
  }
  std::vector<uint32_t> numbers() const {
    std::vector<uint32_t> all;
    for (const Seen& one : seen) all.push_back(one.number);
    return all;
  }
  std::vector<Seen> seen;
  std::vector<std::string> payloads;
  WalkCounts counts;
  size_t end = 0;

 private:
  void take(const DetailRecord& record) {
    uint32_t number = 0;
    std::memcpy(&number, record.payload.data(), std::min(sizeof number, record.payload.size()));
    std::vector<int> spans;
    for (const pool::SpanRef& span : record.spans) spans.push_back(span.span_id[7]);
    seen.push_back({record.ticks, number, record.tid, spans, record.spans_certain});
    payloads.emplace_back(record.payload);
  }
};

using PayloadNumbers = std::vector<uint32_t>;

TEST(RecordWalk, YieldsEventsWithTheirThreadAndSpans) {
  std::string bytes = event(1001, 1) + committed(owner_record(9, 1002)) + event(1003, 2) +
                      committed(spans_record(1004, {3})) + event(1005, 3) +
                      committed(spans_record(1006, {4, 5}, pool::kMoreSpans)) + event(1007, 4) +
                      committed(spans_record(1008, {})) + event(1009, 5);
  Walked walked(bytes);
  EXPECT_EQ(walked.seen, (std::vector<Seen>{{1001, 1, 5, {}, true},
                                            {1003, 2, 9, {}, true},
                                            {1005, 3, 9, {3}, true},
                                            {1007, 4, 9, {3, 4, 5}, true},
                                            {1009, 5, 9, {}, true}}));
  EXPECT_EQ(walked.counts.holes, 0u);
  EXPECT_EQ(walked.end, bytes.size());
}

TEST(RecordWalk, AThreadThatGoesOnInAChunkHasNoneOfTheSpansBefore) {
  Walked walked(committed(spans_record(1001, {3})) + event(1002, 1) + committed(owner_record(9, 1003)) +
                event(1004, 2));
  EXPECT_EQ(walked.seen[1], (Seen{1004, 2, 9, {}, true}));
}

TEST(RecordWalk, ShortAndLongRecordsHaveTheirPayloads) {
  std::string text(500, 'x');
  Walked walked(committed(detail_record(16, 1001, "")) + committed(detail_record(16, 1002, "abcde")) +
                committed(long_detail_record(16, 1003, text)) + committed(pad_record(16)) + committed(pad_record(128)) +
                committed(pad_record(136)) + committed(pad_record(2048)) +
                committed(long_detail_record(16, 1004, std::string(2032, 'y'))));
  ASSERT_EQ(walked.payloads.size(), 4u);
  EXPECT_EQ(walked.payloads[0], std::string(4, '\0'));
  EXPECT_EQ(walked.payloads[1], std::string("abcde\0\0\0\0\0\0\0", 12));
  EXPECT_EQ(walked.payloads[2], text);
  EXPECT_EQ(walked.payloads[3].size(), 2032u);
  EXPECT_EQ(walked.counts.holes, 0u);
}

TEST(RecordWalk, OrderIsThatOfAddresses) {
  Walked walked(event(1005, 1) + event(1003, 2) + event(900, 3));
  EXPECT_EQ(walked.seen[1].ticks, 1003u);
  EXPECT_EQ(walked.seen[2].ticks, 900u) << "a handler ran before the chunk was there";
}

TEST(RecordWalk, TicksAreThoseNextToTheChunks) {
  constexpr uint64_t kLap = uint64_t{1} << 48;
  ChunkView chunk{.first_ticks = 5 * kLap - 10};
  Walked walked(event(kLap - 12, 1) + event(kLap - 2, 2) + event(3, 3) + event(kLap / 2 + 7, 4) + event(1, 5), chunk);
  EXPECT_EQ(walked.seen[0].ticks, 5 * kLap - 12);
  EXPECT_EQ(walked.seen[1].ticks, 5 * kLap - 2);
  EXPECT_EQ(walked.seen[2].ticks, 5 * kLap + 3);
  EXPECT_EQ(walked.seen[3].ticks, 5 * kLap + kLap / 2 + 7) << "an idle thread";
  EXPECT_EQ(walked.seen[4].ticks, 6 * kLap + 1);
}

TEST(RecordWalk, ResumesBehindAHole) {
  std::string hole = detail_record(16, 1002, "a record that was never committed");
  std::string bytes = event(1001, 1) + hole + event(1003, 2) + hole + hole + event(1004, 3) + hole;
  Walked walked(bytes);
  EXPECT_EQ(walked.numbers(), (PayloadNumbers{1, 2, 3}));
  EXPECT_EQ(walked.counts.holes, 2u) << "behind the last record there is none";
  EXPECT_EQ(walked.counts.hole_bytes, 3 * hole.size());
  EXPECT_EQ(walked.end, bytes.size() - hole.size());
}

TEST(RecordWalk, AnEarlierLapIsAHole) {
  std::string old = committed(detail_record(16, 1002, "x"), kEpoch - 2);
  Walked walked(old + event(1003, 2) + old);
  EXPECT_EQ(walked.numbers(), (PayloadNumbers{2}));
}

TEST(RecordWalk, BehindAHoleTheSpansAreUncertainUntilTheyAreTold) {
  std::string hole = spans_record(1002, {7});
  Walked walked(committed(spans_record(1001, {3})) + hole + event(1003, 1) + committed(spans_record(1004, {4})) +
                event(1005, 2) + hole + committed(owner_record(8, 1006)) + event(1007, 3));
  EXPECT_FALSE(walked.seen[0].certain);
  EXPECT_TRUE(walked.seen[1].certain);
  EXPECT_TRUE(walked.seen[2].certain);
}

// What lies in a hole may look like a header: it is one only when all of it is likely.
TEST(RecordWalk, InAHoleOnlyWhatIsLikelyIsARecord) {
  ChunkView sealed{.first_ticks = 1000, .last_ticks = 2000};
  std::string hole(16, '\0');
  const std::pair<const char*, std::string> unlikely[] = {
      {"a kind that nobody has", committed(detail_record(9, 1500, raw(1)))},
      {"a kind beyond all", committed(detail_record(4016, 1500, raw(1)))},
      {"much too late", committed(detail_record(16, uint64_t{1} << 46, raw(1)))},
      {"much too early", committed(detail_record(16, (uint64_t{1} << 47) + 1, raw(1)))},
      {"a long one beyond what there is", committed(detail_record(16, 1500, raw(2033)).replace(6, 1, 1, '\x0f'))},
      {"a pad with a time", committed(detail_record(0, 1500, raw(1)))}};
  for (const auto& [what, record] : unlikely) {
    Walked walked(hole + record + event(1600, 2), sealed);
    EXPECT_EQ(walked.numbers(), (PayloadNumbers{2})) << what;
    EXPECT_EQ(walked.counts.unknown_records, 0u) << what;
  }
}

// The end of a later text in the middle of an older epoch can make it this epoch's; the rest is not this tracepoint's.
TEST(RecordWalk, InAHoleAnEventFitsItsDescription) {
  std::string entry = testing::table_entry(16, "numbered", {{pool::FieldType::kUint32, "n"}}) +
                      testing::table_entry(17, "text", {{pool::FieldType::kString, "text"}});
  TracepointTable table = TracepointTable::decode(entry, entry);
  ChunkView chunk{.first_ticks = 1000, .table = &table};
  std::string hole(16, '\0');
  const std::pair<const char*, std::string> unlikely[] = {
      {"nothing describes it", committed(detail_record(18, 1500, raw(1)))},
      {"too long", committed(detail_record(16, 1500, std::string(13, 'x')))},
      {"a text beyond its end", committed(detail_record(17, 1500, raw(uint16_t{3}) + "xx"))},
      {"a long one that is too long", committed(long_detail_record(16, 1500, raw(uint64_t{1})))},
      {"an owner with too much", committed(detail_record(pool::kOwner, 1500, raw(uint64_t{1})))},
      {"spans that do not add up", committed(detail_record(pool::kSpans, 1500, raw(uint32_t{2}) + "0123"))}};
  for (const auto& [what, record] : unlikely) {
    Walked walked(hole + record + event(1600, 2), chunk);
    EXPECT_EQ(walked.numbers(), (PayloadNumbers{2})) << what;
    EXPECT_EQ(walked.counts.malformed_records, 0u) << what;
  }
  Walked walked(hole + committed(detail_record(17, 1500, testing::sized("xx"))) + event(1600, 2), chunk);
  EXPECT_EQ(walked.seen.size(), 2u);
}

TEST(RecordWalk, KindsOfLaterVersionsArePassedOver) {
  Walked walked(event(1001, 1) + committed(detail_record(9, 1002, "whatever")) + event(1003, 2));
  EXPECT_EQ(walked.numbers(), (PayloadNumbers{1, 2}));
  EXPECT_EQ(walked.counts.unknown_records, 1u);
  EXPECT_EQ(walked.counts.holes, 0u);
}

TEST(RecordWalk, SizesThatDoNotAddUpAreCounted) {
  std::string lying = spans_record(1001, {1, 2});
  uint32_t many = 0xffffffff;
  std::memcpy(lying.data() + pool::kPayloadOffset, &many, sizeof many);
  Walked walked(committed(lying) + event(1002, 1));
  EXPECT_EQ(walked.seen[0].spans, std::vector<int>{});
  EXPECT_FALSE(walked.seen[0].certain);
  EXPECT_EQ(walked.counts.malformed_records, 1u);
}

TEST(RecordWalk, ASetOfSpansHasAnEnd) {
  std::string bytes;
  for (int i = 0; i < 40; ++i) bytes += committed(spans_record(1001, {1, 2, 3, 4}, pool::kMoreSpans));
  Walked walked(bytes + event(1002, 1));
  EXPECT_EQ(walked.seen[0].spans.size(), RecordWalk::kMostSpans);
  EXPECT_EQ(walked.counts.dropped_spans, 160 - RecordWalk::kMostSpans);
}

TEST(RecordWalk, ARecordEndsWithinItsChunk) {
  std::string bytes = event(1001, 1) + committed(detail_record(16, 1002, std::string(100, 'x')));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(Walked(bytes.substr(0, size)).seen.size(), size >= 16 ? 1u : 0u) << size;
  }
}

TEST(RecordWalk, AnythingIsAChunk) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    while (bytes.size() < 2000) {
      bytes += event(1000 + bytes.size(), 1) + committed(spans_record(1001, {1, 2}, pool::kMoreSpans)) +
               committed(long_detail_record(17, 1002, std::string(random() % 300, 'x')));
    }
    for (uint64_t i = 0; i < random() % 40; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    std::string exact(bytes.data(), random() % bytes.size());  // reads beyond it are seen by a sanitizer
    Walked walked(exact);
    EXPECT_LE(walked.end, exact.size());
  }
}

// ---- two copies of an open chunk

struct Settled {
  Settled(std::string first, std::string copy) : second(std::move(copy)) {
    ChunkView chunk{.bytes = second, .epoch = kEpoch, .first_ticks = 1000};
    end = settle(first, second.data(), chunk);
    numbers = Walked(second).numbers();
  }
  std::string second;
  size_t end = 0;
  PayloadNumbers numbers;
};

TEST(Settle, KeepsWhatWasCommittedBeforeTheSecondCopy) {
  std::string under_way = detail_record(16, 1002, raw(2));
  std::string before = event(1001, 1) + under_way + event(1003, 3);
  std::string after = event(1001, 1) + event(1002, 2) + event(1003, 3) + event(1004, 4);
  before.resize(after.size(), '\0');
  Settled settled(before, after);
  EXPECT_EQ(settled.numbers, (PayloadNumbers{1, 3}));
  EXPECT_EQ(settled.end, 48u);
}

// The first copy may have the epoch, and bytes from before it; the second has what the epoch stands for.
TEST(Settle, BytesAreThoseOfTheSecondCopy) {
  Settled settled(committed(std::string(16, '\0')), event(1001, 7));
  EXPECT_EQ(settled.numbers, (PayloadNumbers{7}));
}

TEST(Settle, NothingNewNothingLost) {
  std::string bytes = event(1001, 1) + committed(pad_record(160)) + event(1003, 3);
  Settled settled(bytes, bytes);
  EXPECT_EQ(settled.second, bytes);
  EXPECT_EQ(settled.end, bytes.size());
  EXPECT_EQ(Settled(std::string(64, '\0'), std::string(64, '\0')).end, 0u);
}

TEST(Settle, NeedsTheFirstCopysLastRecordAndNothingBehindIt) {
  const std::string bytes = event(1001, 1) + event(1002, 2);
  EXPECT_EQ(bytes_with_epoch(bytes, kEpoch), bytes.size());
  const size_t enough = bytes_with_epoch(bytes + std::string(60'000, '\0'), kEpoch);
  EXPECT_GE(enough, bytes.size());
  EXPECT_LE(enough, bytes.size() + pool::kMostEventBytes);
  EXPECT_EQ(bytes_with_epoch(bytes, kEpoch + 1), 0u);
  EXPECT_EQ(bytes_with_epoch("", kEpoch), 0u);
}

// ---- a thread that wrote nothing for longer than 48 bits can tell

constexpr uint64_t kLap = uint64_t{1} << 48;

std::vector<uint64_t> ticks_of(const Walked& walked) {
  std::vector<uint64_t> all;
  for (const Seen& one : walked.seen) all.push_back(one.ticks);
  return all;
}

TEST(RecordWalk, WhatCanBeOfTheWindowIs) {
  uint64_t now = 3 * kLap + 50'000;
  std::string bytes = event(1100, 1) + event(now - 300, 2) + event(now - 310, 3) + event(now - 100, 4);
  ChunkView chunk{.first_ticks = 1000, .last_ticks = now, .asked_from_ticks = now - 1000};
  EXPECT_EQ(ticks_of(Walked(bytes, chunk)), (std::vector<uint64_t>{1100, now - 300, now - 310, now - 100}));
  chunk.asked_from_ticks = now - 200;
  EXPECT_EQ(ticks_of(Walked(bytes, chunk)).back(), now - 100);
  chunk.asked_from_ticks = 0;
  EXPECT_EQ(ticks_of(Walked(bytes, chunk)).back(), 50'000u - 100) << "it could be of any day";
  chunk = {.first_ticks = 1000, .asked_from_ticks = now - 1000};
  EXPECT_EQ(ticks_of(Walked(bytes, chunk)).back(), 50'000u - 100) << "nobody knows what time it is";
  chunk = {.first_ticks = 1000, .last_ticks = 5, .asked_from_ticks = now};
  EXPECT_EQ(Walked(bytes, chunk).seen.size(), 4u) << "an entry that makes no sense";
}

}  // namespace
}  // namespace fathom::agent
