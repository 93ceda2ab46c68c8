#include "node-agent/pool/pool_reader.h"

#include <gtest/gtest.h>

#include "node-agent/testing/collecting_sink.h"
#include "node-agent/testing/scripted_pool.h"

namespace fathom::agent {
namespace {

using testing::CollectingSink;
using testing::make_record;
using testing::ScriptedPool;
using Numbers = std::vector<uint64_t>;

constexpr uint64_t kPlentyBytes = 1 << 20;

class PoolReaderTest : public ::testing::Test {
 protected:
  PoolReader attach(uint64_t instance = 1) {
    Result<PoolFile> file = PoolFile::open(pool_.descriptor(), pool_.bytes());
    EXPECT_TRUE(file.ok());
    return PoolReader(*std::move(file), instance, losses_);
  }
  static Numbers collect(PoolReader& reader, bool ended = false) {
    CollectingSink sink;
    reader.collect(sink, kPlentyBytes, ended);
    return sink.numbers;
  }
  // A whole batch.
  static Numbers take(PoolReader& reader, bool ended = false) {
    Numbers numbers = collect(reader, ended);
    if (numbers.empty()) return numbers;
    reader.begin();
    reader.acknowledge();
    return numbers;
  }
  void put(uint32_t chunk, std::initializer_list<uint64_t> numbers) {
    for (uint64_t number : numbers) ASSERT_TRUE(pool_.put(chunk, make_record(number)));
  }

  ScriptedPool pool_{8};
  AgentLosses losses_;
};

TEST_F(PoolReaderTest, KnowsHowMuchIsUnread) {
  PoolReader reader = attach();
  EXPECT_FALSE(reader.has_unread(1));
  pool_.claim(0);
  put(0, {1, 2});
  pool_.claim(1);
  put(1, {3});
  const uint64_t record_bytes = make_record(1).size();
  EXPECT_TRUE(reader.has_unread(3 * record_bytes));
  EXPECT_FALSE(reader.has_unread(3 * record_bytes + 1));
  EXPECT_EQ(take(reader).size(), 3u);
  EXPECT_FALSE(reader.has_unread(1));
  put(1, {4});
  EXPECT_TRUE(reader.has_unread(record_bytes));
  EXPECT_FALSE(reader.has_unread(record_bytes + 1));
}

TEST_F(PoolReaderTest, TakesWhatIsFinishedOnce) {
  PoolReader reader = attach();
  EXPECT_EQ(take(reader), Numbers{});
  pool_.claim(0);
  put(0, {1, 2});
  EXPECT_EQ(take(reader), (Numbers{1, 2}));
  EXPECT_EQ(take(reader), Numbers{});
  put(0, {3});
  EXPECT_EQ(take(reader), Numbers{3});
  EXPECT_EQ(pool_.entry(0).acknowledged.load(), pool_.entry(0).reserved.load());
}

TEST_F(PoolReaderTest, SaysWhichThreadAChunkIsOf) {
  for (uint32_t chunk : {0u, 1u}) {
    pool_.claim(chunk);
    pool_.entry(chunk).owner_tid.store(500 + chunk);
    put(chunk, {chunk});
  }
  pool_.seal(0);
  PoolReader reader = attach();
  CollectingSink sink;
  reader.collect(sink, kPlentyBytes, false);
  EXPECT_EQ(sink.tids, (std::vector<uint32_t>{500, 501}));
  reader.begin();
  PoolReader successor = attach(2);
  ASSERT_TRUE(successor.resumes());
  CollectingSink again;
  successor.collect_again(again);
  EXPECT_EQ(again.tids, sink.tids);
}

TEST_F(PoolReaderTest, GivesSealedChunksBackWhenAllIsAcknowledged) {
  PoolReader reader = attach();
  pool_.claim(0);
  put(0, {1});
  EXPECT_EQ(collect(reader), Numbers{1});
  reader.begin();
  put(0, {2});
  pool_.seal(0);
  EXPECT_EQ(pool_.state(0), pool::kSealed);
  reader.acknowledge();
  EXPECT_EQ(pool_.state(0), pool::kSealed) << "not all of it is acknowledged";
  EXPECT_EQ(take(reader), Numbers{2});
  EXPECT_EQ(pool_.state(0), pool::kFree);
}

TEST_F(PoolReaderTest, AChunkThatIsSealedAfterItsLastRecordWasTakenIsFreed) {
  PoolReader reader = attach();
  pool_.claim(0);
  put(0, {1});
  EXPECT_EQ(take(reader), Numbers{1});
  pool_.seal(0);
  EXPECT_EQ(take(reader), Numbers{});
  EXPECT_EQ(pool_.state(0), pool::kFree);
}

TEST_F(PoolReaderTest, TheNextEpochBeginsAtItsBegin) {
  PoolReader reader = attach();
  for (uint64_t lap = 0; lap < 3; ++lap) {
    EXPECT_EQ(pool_.claim(0), lap + 1);
    put(0, {lap * 10, lap * 10 + 1});
    pool_.seal(0);
    EXPECT_EQ(take(reader), (Numbers{lap * 10, lap * 10 + 1}));
  }
}

TEST_F(PoolReaderTest, RecordsOfAnOlderEpochAreNone) {
  PoolReader reader = attach();
  pool_.claim(0);
  put(0, {1, 2, 3});
  pool_.seal(0);
  take(reader);
  pool_.claim(0);
  pool_.reserve(0, make_record(4).size() * 2);  // what lies there is still of the first lap
  EXPECT_EQ(take(reader), Numbers{});
}

TEST_F(PoolReaderTest, StopsAtAGapAndGoesOnWhenItIsFilled) {
  PoolReader reader = attach();
  pool_.claim(0);
  put(0, {1});
  std::string interrupted = make_record(2);
  uint32_t at = pool_.reserve(0, interrupted.size());
  put(0, {3});
  EXPECT_EQ(take(reader), Numbers{1});
  EXPECT_EQ(take(reader), Numbers{});
  pool_.commit(0, at, interrupted);
  EXPECT_EQ(take(reader), (Numbers{2, 3}));
}

TEST_F(PoolReaderTest, BehindTheGapsOfADeadProgramItGoesOn) {
  PoolReader reader = attach();
  pool_.claim(0);
  put(0, {1});
  pool_.reserve(0, make_record(2).size());
  put(0, {3});
  pool_.reserve(0, make_record(4).size());
  put(0, {5, 6});
  uint64_t before = losses_.unfinished_spans.value();
  EXPECT_EQ(take(reader, true), (Numbers{1, 3, 5, 6}));
  EXPECT_EQ(losses_.unfinished_spans.value() - before, 2u);
  CollectingSink sink;
  EXPECT_TRUE(reader.collect(sink, kPlentyBytes, true).empty);
}

TEST_F(PoolReaderTest, TheUnusedEndOfADeadProgramsChunkIsNoLoss) {
  PoolReader reader = attach();
  pool_.claim(0);
  uint64_t number = 0;
  while (pool_.put(0, make_record(number))) ++number;
  EXPECT_GT(pool_.entry(0).reserved.load(), pool::kChunkBytes);
  uint64_t before = losses_.unfinished_spans.value();
  EXPECT_EQ(take(reader, true).size(), number);
  EXPECT_EQ(losses_.unfinished_spans.value(), before);
}

TEST_F(PoolReaderTest, AChunkThatIsBeingClaimedIsNotLookedAt) {
  PoolReader reader = attach();
  pool_.claim(0);
  put(0, {1});
  pool_.entry(0).state.store(pool::pack_state(1, pool::kClaimed));
  EXPECT_EQ(take(reader), Numbers{});
  EXPECT_EQ(take(reader, true), Numbers{});
}

TEST_F(PoolReaderTest, AllChunksGetTheirTurn) {
  PoolReader reader = attach();
  for (uint32_t chunk = 0; chunk < 4; ++chunk) {
    pool_.claim(chunk);
    put(chunk, {chunk});
  }
  Numbers seen;
  for (int i = 0; i < 4; ++i) {
    CollectingSink sink;
    Collected collected = reader.collect(sink, 1, false);
    EXPECT_TRUE(collected.full);
    reader.begin();
    reader.acknowledge();
    seen.insert(seen.end(), sink.numbers.begin(), sink.numbers.end());
    put(0, {100});  // a busy first chunk keeps nobody waiting
  }
  EXPECT_EQ(seen, (Numbers{0, 1, 2, 3}));
}

TEST_F(PoolReaderTest, WhatHoldsNoSpanIsCountedAndNeedsNoBatch) {
  PoolReader reader = attach();
  pool_.claim(0);
  std::string record = make_record(1);
  reinterpret_cast<pool::SpanRecord*>(record.data())->name_bytes = 60'000;
  ASSERT_TRUE(pool_.put(0, record));
  uint64_t before = losses_.malformed_spans.value();
  EXPECT_EQ(collect(reader), Numbers{});
  EXPECT_EQ(losses_.malformed_spans.value() - before, 1u);
  EXPECT_EQ(pool_.entry(0).acknowledged.load(), record.size());
  EXPECT_EQ(reader.sequence(), 0u);
}

TEST_F(PoolReaderTest, RecordsOfLaterVersionsArePassedOver) {
  PoolReader reader = attach();
  pool_.claim(0);
  put(0, {1});
  uint32_t at = pool_.reserve(0, 64);
  uint64_t word = pool::pack_record(1, pool::RecordType{77}, 8);
  std::memcpy(pool_.chunk(0) + at, &word, sizeof word);
  pool_.entry(0).committed.fetch_add(64);
  put(0, {2});
  uint64_t before = losses_.unknown_records.value();
  EXPECT_EQ(take(reader), (Numbers{1, 2}));
  EXPECT_EQ(losses_.unknown_records.value() - before, 1u);
}

TEST_F(PoolReaderTest, ADamagedSealedChunkIsReadToItsEnd) {
  PoolReader reader = attach();
  pool_.claim(0);
  put(0, {1, 2, 3});
  std::memset(pool_.chunk(0) + make_record(1).size(), 0xff, 8);
  pool_.seal(0);
  EXPECT_EQ(take(reader), (Numbers{1, 3}));
  EXPECT_EQ(pool_.state(0), pool::kFree);
}

TEST_F(PoolReaderTest, ASuccessorSendsTheSameRangesAgain) {
  std::optional<PoolReader> first(attach(1));
  pool_.claim(0);
  put(0, {1, 2});
  EXPECT_EQ(take(*first), (Numbers{1, 2}));
  put(0, {3, 4});
  EXPECT_EQ(collect(*first), (Numbers{3, 4}));
  first->begin();
  EXPECT_EQ(first->sequence(), 2u);
  first.reset();
  put(0, {5});
  PoolReader second = attach(2);
  ASSERT_TRUE(second.resumes());
  EXPECT_EQ(second.sequence(), 2u);
  CollectingSink sink;
  second.collect_again(sink);
  EXPECT_EQ(sink.numbers, (Numbers{3, 4}));
  second.acknowledge();
  EXPECT_EQ(take(second), Numbers{5});
}

TEST_F(PoolReaderTest, WhatWasCollectedButNotBegunIsCollectedAgain) {
  std::optional<PoolReader> first(attach(1));
  pool_.claim(0);
  put(0, {1});
  EXPECT_EQ(collect(*first), Numbers{1});
  first.reset();
  PoolReader second = attach(2);
  EXPECT_FALSE(second.resumes());
  EXPECT_EQ(take(second), Numbers{1});
}

TEST_F(PoolReaderTest, AnotherReaderIsNoticed) {
  PoolReader first = attach(1);
  EXPECT_TRUE(first.is_ours());
  PoolReader second = attach(2);
  EXPECT_FALSE(first.is_ours());
  EXPECT_TRUE(second.is_ours());
}

TEST_F(PoolReaderTest, MarksOfMoreThanABatchAreNotBelieved) {
  ScriptedPool large(512);
  for (uint32_t chunk = 0; chunk < 512; ++chunk) {
    large.claim(chunk);
    large.put(chunk, make_record(chunk));
    large.entry(chunk).reader_epoch.store(1);
    large.entry(chunk).sending.store(pool::kChunkBytes);
  }
  large.header().batch_sequence.store(7);
  uint64_t before = losses_.abandoned_batches.value();
  Result<PoolFile> file = PoolFile::open(large.descriptor(), 0);
  ASSERT_TRUE(file.ok());
  PoolReader reader(*std::move(file), 1, losses_);
  EXPECT_FALSE(reader.resumes());
  EXPECT_EQ(losses_.abandoned_batches.value() - before, 1u);
  EXPECT_EQ(take(reader).size(), 512u) << "nothing of it counts as acknowledged";
}

TEST_F(PoolReaderTest, LossesAreCountedOnceWhoeverReads) {
  uint64_t before = losses_.of_program(pool::kLostPoolFull).value();
  pool_.header().losses[pool::kLostPoolFull].store(5);
  {
    PoolReader first = attach(1);
    first.count_losses(1);
    first.count_losses(2);
    first.mark_told(first.counted_losses());
  }
  pool_.header().losses[pool::kLostPoolFull].store(7);
  pool_.header().losses[15].store(1);
  uint64_t unknown = losses_.of_program(15).value();
  PoolReader second = attach(2);
  second.count_losses(1);
  EXPECT_EQ(losses_.of_program(pool::kLostPoolFull).value() - before, 7u);
  EXPECT_EQ(losses_.of_program(15).value() - unknown, 1u);
}

TEST_F(PoolReaderTest, EveryLossOfAProgramHasItsSeries) {
  struct Series {
    uint32_t loss;
    const char* name;
    const char* reason;
  };
  for (const Series& series : {Series{pool::kLostPoolFull, "fathom_agent_lost_spans_total", "pool_full"},
                               Series{pool::kLostNotReady, "fathom_agent_lost_spans_total", "pool_not_ready"},
                               Series{pool::kLostAttributes, "fathom_agent_lost_details_total", "attributes_too_large"},
                               Series{pool::kLostDetails, "fathom_agent_lost_details_total", "details_too_large"},
                               Series{pool::kCutValues, "fathom_agent_lost_details_total", "value_cut"},
                               Series{pool::kCutValues + 1, "fathom_agent_lost_details_total", "unknown"},
                               Series{pool::kLosses - 1, "fathom_agent_lost_details_total", "unknown"}}) {
    Counter& counted = counter(series.name, "", label("reason", series.reason));
    uint64_t before = counted.value();
    PoolReader reader = attach();
    pool_.header().losses[series.loss].store(3);
    reader.count_losses(1);
    EXPECT_EQ(counted.value() - before, 3u) << series.reason;
    reader.mark_told(reader.counted_losses());
  }
}

TEST_F(PoolReaderTest, WildCountsSpoilNoSeries) {
  Counter& series = losses_.of_program(pool::kLostPoolFull);
  std::atomic<uint64_t>& lost = pool_.header().losses[pool::kLostPoolFull];
  std::atomic<uint64_t>& counted = pool_.header().counted_losses[pool::kLostPoolFull];
  uint64_t before = series.value();
  uint64_t wild = losses_.wild_counts.value();
  PoolReader reader = attach();
  reader.count_losses(1000);
  lost.store(160);
  reader.count_losses(1010);
  EXPECT_EQ(series.value() - before, 160u) << "as much as can be in so short a time";
  lost.store(UINT64_MAX);
  reader.count_losses(1020);
  EXPECT_EQ(series.value() - before, 160u);
  EXPECT_EQ(losses_.wild_counts.value() - wild, 1u);
  lost.store(100);
  counted.store(0);  // what is counted is ours to know
  reader.count_losses(1030);
  EXPECT_EQ(series.value() - before, 160u);
  EXPECT_EQ(losses_.wild_counts.value() - wild, 1u);
}

// An agent that dies has counted for nobody but itself.
TEST_F(PoolReaderTest, WhatWasNotToldIsCountedByTheSuccessor) {
  Counter& series = losses_.of_program(pool::kLostPoolFull);
  std::atomic<uint64_t>& lost = pool_.header().losses[pool::kLostPoolFull];
  {
    PoolReader reader = attach();
    EXPECT_TRUE(reader.all_losses_told());
    lost.store(5);
    reader.count_losses(1000);
    PoolReader::LossCounts reported = reader.counted_losses();
    lost.store(12);
    reader.count_losses(2000);
    reader.mark_told(reported);
    EXPECT_FALSE(reader.all_losses_told()) << "7 came after the report";
    EXPECT_EQ(pool_.header().counted_losses[pool::kLostPoolFull].load(), 5u);
  }
  uint64_t before = series.value();
  PoolReader successor = attach();
  successor.count_losses(3000);
  EXPECT_EQ(series.value() - before, 7u);
  successor.mark_told(successor.counted_losses());
  EXPECT_TRUE(successor.all_losses_told());
  PoolReader third = attach();
  third.count_losses(4000);
  EXPECT_EQ(series.value() - before, 7u);
}

TEST_F(PoolReaderTest, WhatIsCountedOnceIsNotCountedAgain) {
  Counter& series = losses_.of_program(pool::kLostPoolFull);
  uint64_t before = series.value();
  PoolReader reader = attach();
  pool_.header().losses[pool::kLostPoolFull].store(5);
  reader.count_losses(1000);
  pool_.header().counted_losses[pool::kLostPoolFull].store(0);
  reader.count_losses(2000);
  EXPECT_EQ(series.value() - before, 5u);
}

TEST_F(PoolReaderTest, AResourceIsReadWhenItIsWhole) {
  PoolReader reader = attach();
  EXPECT_TRUE(reader.new_resource(false));
  EXPECT_FALSE(reader.new_resource(false)) << "the same";
  uint64_t word = pool_.header().resource.load();
  pool_.header().resource.store(word + (uint64_t{1} << 32));
  EXPECT_FALSE(reader.new_resource(false)) << "being written";
  pool_.header().resource.store(word + (uint64_t{2} << 32));
  EXPECT_TRUE(reader.new_resource(false));
  pool_.header().resource.store(word + (uint64_t{3} << 32));
  EXPECT_TRUE(reader.new_resource(true)) << "nobody will complete it";
}

}  // namespace
}  // namespace fathom::agent
