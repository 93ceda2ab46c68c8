#include "client/chunks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>

#include "base/testing/repetitions.h"
#include "client/testing/memory_pool.h"
#include "client/testing/pool_reader.h"

namespace fathom::client {
namespace {

using testing::MemoryPool;
using testing::numbered_record;
using testing::PoolReader;
using testing::ReadSpan;
using testing::see;

// Several threads of a program, simulated one within another: wherever a signal could matter, the same thread is
// interrupted by another put() (a signal), another thread runs, or the reader looks. The model is the set of what was
// stored.
class World {
 public:
  World(uint32_t seed, uint32_t chunks)
      : random_(seed), pool_(chunks), reader_(PoolReader::of_memory(pool_.base())), threads_(3) {
    for (uint32_t i = 0; i < threads_.size(); i++) threads_[i].tid = i + 1;
  }

  void step() {
    const uint32_t choice = pick(40);
    if (choice == 0) {
      end_thread(threads_[pick(3)]);
    } else if (choice < 4) {
      read();
    } else {
      store(threads_[pick(3)], 0);
    }
  }

  // All threads end, the reader takes the rest: what was stored is there, once, and nothing else.
  void finish() {
    for (WriterThread& thread : threads_) end_thread(thread);
    read();
    EXPECT_EQ(stored_.size(), 0U) << "stored, and never read";
    EXPECT_EQ(reader_.chunks_in_state(pool::kFree), pool_.view().chunk_count);
    EXPECT_TRUE(reader_.faults().empty()) << reader_.faults()[0];
  }

  uint64_t lost() const { return lost_; }
  uint64_t taken() const { return taken_; }
  uint64_t at_once() const { return at_once_; }

 private:
  struct Interrupt {
    World& world;
    WriterThread& thread;
    int depth;
    void operator()() const { world.interrupt(thread, depth); }
  };

  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  void interrupt(WriterThread& thread, int depth) {
    if (depth >= 4 || pick(12) != 0) return;
    const uint32_t choice = pick(5);
    if (choice < 2) {
      for (uint32_t n = 1 + pick(pick(4) == 0 ? 150 : 2); n > 0; n--) store(thread, depth + 1);
    } else if (choice < 4) {
      store(threads_[pick(3)], depth + 1);
    } else {
      read();
    }
  }

  void store(WriterThread& thread, int depth) {
    const uint64_t number = next_++;
    const auto value_bytes = static_cast<uint32_t>(pick(30) == 0 ? pick(7000) : pick(200));
    const std::vector<char> record = numbered_record(number, value_bytes);
    const Interrupt interrupt{*this, thread, depth};
    stored_[number] = value_bytes;
    const auto bytes = static_cast<uint32_t>(record.size());
    if (pick(2) == 0 && put_at_once(see(pool_), thread, record.data(), bytes, interrupt)) {
      at_once_++;
      if (thread.retired.load() != 0) seal_when_idle(pool_.view(), thread, links_);
      return;
    }
    if (put(see(pool_), thread, links_, hint_, record.data(), bytes, interrupt)) return;
    EXPECT_EQ(stored_.erase(number), 1U) << "lost, and yet read";
    lost_++;
  }

  void end_thread(WriterThread& thread) {
    if (thread.writes.load() != 0) return;
    if (pool::ChunkEntry* entry = thread.entry.load()) retire_chunk(pool_.view(), thread, links_, entry);
    seal_retired(pool_.view(), thread, links_);
  }

  void read() {
    for (const ReadSpan& span : reader_.take()) {
      const auto found = stored_.find(span.start_ticks);
      ASSERT_NE(found, stored_.end()) << "not stored, or read before: " << span.start_ticks;
      EXPECT_EQ(span.attribute("v"), std::string(found->second, static_cast<char>('a' + span.start_ticks % 26)));
      EXPECT_EQ(span.end_ticks, ~span.start_ticks);
      stored_.erase(found);
      taken_++;
    }
  }

  std::mt19937 random_;
  MemoryPool pool_;
  PoolReader reader_;
  std::vector<WriterThread> threads_;
  RetiredLinks links_ = {};
  std::atomic<uint32_t> hint_{0};
  std::map<uint64_t, uint32_t> stored_;
  uint64_t next_ = 1;
  uint64_t lost_ = 0;
  uint64_t taken_ = 0;
  uint64_t at_once_ = 0;
};

TEST(ChunksModel, WhateverIsStoredIsReadOnceHoweverItIsInterrupted) {
  uint64_t lost = 0, taken = 0, at_once = 0;
  const uint64_t seeds = repetitions(40);
  for (uint32_t seed = 1; seed <= seeds && !::testing::Test::HasFailure(); seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto world = std::make_unique<World>(seed, 2 + seed % 6);
    for (int i = 0; i < 1000; i++) world->step();
    world->finish();
    lost += world->lost();
    taken += world->taken();
    at_once += world->at_once();
  }
  // The seeds must lead to all of these.
  EXPECT_GT(at_once, 125 * seeds);
  EXPECT_GT(lost, 5 * seeds);
  EXPECT_GT(taken, 500 * seeds);
}

struct OnePool {
  explicit OnePool(uint32_t chunks) : pool(chunks), reader(PoolReader::of_memory(pool.base())) {}

  bool store(uint64_t number, uint32_t value_bytes = 50) {
    const std::vector<char> record = numbered_record(number, value_bytes);
    return put(see(pool), thread, *links, hint, record.data(), static_cast<uint32_t>(record.size()));
  }
  pool::ChunkState state(uint32_t chunk) const {
    return static_cast<pool::ChunkState>(reader.entry(chunk).state.load());
  }
  uint32_t epoch(uint32_t chunk) const { return static_cast<uint32_t>(reader.entry(chunk).state.load() >> 32); }

  MemoryPool pool;
  PoolReader reader;
  WriterThread thread;
  std::atomic<uint16_t> link_memory[pool::kMostChunks] = {};
  RetiredLinks* links = &link_memory;
  std::atomic<uint32_t> hint{0};
};

TEST(Chunks, AChunkIsSealedWhenItIsFullAndKnowsItsSize) {
  auto one = std::make_unique<OnePool>(2);
  uint64_t number = 0;
  while (one->state(0) != pool::kSealed) ASSERT_TRUE(one->store(number++));
  EXPECT_EQ(one->state(1), pool::kOwned);
  const pool::ChunkEntry& first = one->reader.entry(0);
  const auto bytes = static_cast<uint32_t>(numbered_record(0, 50).size());
  EXPECT_EQ(first.reserved.load(), (number - 1) * bytes);
  EXPECT_EQ(first.committed.load(), first.reserved.load());
  EXPECT_LE(pool::kChunkBytes - first.reserved.load(), bytes);
  EXPECT_EQ(one->reader.take().size(), number);
  EXPECT_EQ(one->state(0), pool::kFree);
}

TEST(Chunks, AFullPoolLosesAndGoesOnWhenAChunkIsFree) {
  auto one = std::make_unique<OnePool>(3);
  uint64_t stored = 0;
  while (one->store(stored)) stored++;
  for (int i = 0; i < 10; i++) EXPECT_FALSE(one->store(1000 + i));
  EXPECT_EQ(one->reader.take().size(), stored);
  // A thread that finds nothing looks at a few chunks only, so it may take some losses until it finds one.
  int attempts = 1;
  while (!one->store(2000)) ASSERT_LT(attempts++, 3);
  EXPECT_EQ(one->reader.take().size(), 1U);
}

TEST(Chunks, EpochsSkipZeroAndOldRecordsAreNone) {
  auto one = std::make_unique<OnePool>(1);
  ASSERT_TRUE(one->store(1));
  pool::ChunkEntry& entry = one->reader.entry(0);
  EXPECT_EQ(one->epoch(0), 1U);
  one->thread.entry = nullptr;
  entry.state = pool::pack_state(UINT32_MAX, pool::kFree);
  ASSERT_TRUE(one->store(2));
  EXPECT_EQ(one->epoch(0), 1U) << "the one after the last";
  const std::vector<ReadSpan> spans = one->reader.take();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].start_ticks, 2U);
}

TEST(Chunks, ALightLoadUsesFewChunksAgainAndAgain) {
  auto one = std::make_unique<OnePool>(64);
  for (uint64_t i = 0; i < 5000; i++) {
    ASSERT_TRUE(one->store(i));
    if (i % 50 == 0) one->reader.take();
  }
  EXPECT_LE(one->pool.header().chunks_used.load(), 2U);
}

TEST(Chunks, ANonsenseNumberOfUsedChunksIsNotBelieved) {
  auto one = std::make_unique<OnePool>(2);
  one->pool.header().chunks_used = 4'000'000'000U;
  for (uint64_t i = 0; i < 1000; i++) one->store(i);
  EXPECT_GT(one->reader.take().size(), 100U);
}

TEST(Chunks, MemoryThatIsRefusedIsNotAskedForWithEverySpan) {
  auto one = std::make_unique<OnePool>(2);
  char* second = one->pool.view().data(&one->pool.view().entries[1]);
  ASSERT_EQ(munmap(second, pool::kChunkBytes), 0);
  uint64_t stored = 0;
  while (one->store(stored)) stored++;
  EXPECT_GT(one->thread.memory_again_nano, monotonic_nano() - 1'000'000'000);
  const auto offset = static_cast<off_t>(second - one->pool.base());
  ASSERT_EQ(mmap(second, pool::kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, one->pool.fd(), offset),
            second);
  one->thread.memory_again_nano = UINT64_MAX;
  EXPECT_FALSE(one->store(1000)) << "there is memory, but nobody asks";
  one->thread.memory_again_nano = 1;  // long ago
  EXPECT_TRUE(one->store(1001));
  EXPECT_EQ(one->thread.memory_again_nano, 0U);
  EXPECT_EQ(one->reader.take().size(), stored + 1);
}

TEST(Chunks, AClaimInVainIsGivenBack) {
  auto one = std::make_unique<OnePool>(1);
  pool::ChunkEntry* claimed = claim_chunk(one->pool.view(), one->thread, one->hint);
  ASSERT_NE(claimed, nullptr);
  EXPECT_EQ(claim_chunk(one->pool.view(), one->thread, one->hint), nullptr);
  unclaim_chunk(claimed);
  EXPECT_EQ(claim_chunk(one->pool.view(), one->thread, one->hint), claimed);
  EXPECT_EQ(one->epoch(0), 2U);
}

}  // namespace
}  // namespace fathom::client
