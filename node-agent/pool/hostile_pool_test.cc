// Pools of programs that mean ill: every word wild, and changing while it is read. The reader must neither crash nor
// hang, nor read more than it was asked to; what it makes of such a pool does not matter.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/testing/repetitions.h"
#include "base/time.h"
#include "node-agent/otlp/span_encoder.h"
#include "node-agent/pool/pool_reader.h"
#include "node-agent/testing/otlp_check.h"
#include "node-agent/testing/scripted_pool.h"
#include "node-agent/testing/steady_clock.h"

namespace fathom::agent {
namespace {

using testing::Items;
using testing::make_record;
using testing::ScriptedPool;

constexpr uint32_t kPoolChunks = 16;
constexpr uint64_t kMostCollectedBytes = 64 * 1024;

void fill(ScriptedPool& pool) {
  for (uint32_t chunk = 0; chunk < kPoolChunks; ++chunk) {
    pool.claim(chunk);
    std::string items = Items().text("key", "value").number("n", chunk).event("e", 1).detail("d", "x").bytes();
    for (uint64_t i = 0; pool.put(chunk, make_record(chunk * 1000 + i, "name", items)); ++i) {
    }
    if (chunk % 2 == 0) pool.seal(chunk);
  }
}

uint64_t wild(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
      return random();
    case 1:
      return random() % 64;
    case 2:
      return ~(random() % 64);
    default:
      return uint64_t{1} << (random() % 64);
  }
}

class HostilePool : public ::testing::Test {
 protected:
  HostilePool() { clock_.update(); }

  // A reader's whole life, as far as the pool lets it.
  void read(ScriptedPool& pool, bool ended) {
    Result<PoolFile> file = PoolFile::open(pool.descriptor(), 0);
    if (!file) return;
    PoolReader reader(*std::move(file), 1, losses_);
    for (int i = 0; i < 20 && reader.is_ours(); ++i) {
      reader.count_losses(++now_nano_);
      std::string resource = encode_resource(reader.new_resource(ended).value_or(""));
      encoder_.begin(pool::Clock::kTsc, resource, 0);
      bool resumed = reader.resumes();
      Collected collected =
          resumed ? reader.collect_again(encoder_) : reader.collect(encoder_, kMostCollectedBytes, ended);
      EXPECT_LE(collected.read_bytes, resumed ? PoolReader::kMostBatchBytes : kMostCollectedBytes + pool::kChunkBytes);
      size_t spans = 0;
      EXPECT_TRUE(testing::is_otlp(encoder_.finish(), &spans));
      EXPECT_EQ(spans, collected.spans);
      if (collected.spans > 0 && !resumed) reader.begin();
      if (reader.under_way()) reader.acknowledge();
    }
  }

  testing::SteadyClock host_;
  TickClock clock_{host_};
  uint64_t now_nano_ = 0;
  AgentLosses losses_;
  SpanEncoder encoder_{clock_, losses_};
};

TEST_F(HostilePool, WildWordsAtRest) {
  for (uint64_t seed = 0; seed < repetitions(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    ScriptedPool pool(kPoolChunks);
    fill(pool);
    char* memory = reinterpret_cast<char*>(&pool.header());
    uint64_t area = seed % 3 == 0 ? pool::kPageBytes : seed % 3 == 1 ? pool::kPageBytes * 2 : pool.bytes();
    for (uint64_t i = 0; i < 1 + random() % 200; ++i) {
      uint64_t value = wild(random);
      // The first 64 bytes were written before the pool was handed over; other tests change those.
      uint64_t at = 64 + random() % (area - 64 - sizeof value);
      std::memcpy(memory + at, &value, 1 + random() % sizeof value);
    }
    read(pool, seed % 2 == 0);
  }
}

TEST_F(HostilePool, MemoryThatChangesWhileItIsRead) {
  ScriptedPool pool(kPoolChunks);
  fill(pool);
  std::atomic<bool> stop{false};
  std::thread program([&] {
    std::mt19937_64 random(5);
    auto* words = reinterpret_cast<std::atomic<uint64_t>*>(&pool.header());
    uint64_t count = pool.bytes() / sizeof(uint64_t);
    uint64_t entries_end = (pool::kPageBytes + kPoolChunks * sizeof(pool::ChunkEntry)) / sizeof(uint64_t);
    while (!stop.load(std::memory_order_relaxed)) {
      uint64_t at = 8 + random() % ((random() % 2 == 0 ? entries_end : count) - 8);
      words[at].store(random() % 2 == 0 ? wild(random) : words[at].load(std::memory_order_relaxed) + 8,
                      std::memory_order_relaxed);
      if (random() % 64 == 0) {  // some of it must look right, or little is read
        auto chunk = static_cast<uint32_t>(random() % kPoolChunks);
        pool.entry(chunk).reserved.store(pool::kChunkBytes);
        pool.entry(chunk).committed.store(random() % 2 == 0 ? pool::kChunkBytes : 0);
        pool.entry(chunk).state.store(pool::pack_state(1, random() % 2 == 0 ? pool::kOwned : pool::kSealed));
        pool.header().chunks_used.store(kPoolChunks);
        pool.header().reader.store(1);
      }
    }
  });
  uint64_t end = now_monotonic_nano() + kNanosPerSecond;
  for (int i = 0; now_monotonic_nano() < end; ++i) read(pool, i % 2 == 0);
  stop.store(true);
  program.join();
}

TEST_F(HostilePool, HolesInItsMemoryAreZeros) {
  ScriptedPool pool(kPoolChunks);
  fill(pool);
  Fd file = pool.descriptor();
  ASSERT_EQ(::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        static_cast<off_t>(pool.header().chunks_offset), 5 * pool::kChunkBytes),
            0);
  read(pool, false);
  read(pool, true);
}

}  // namespace
}  // namespace fathom::agent
