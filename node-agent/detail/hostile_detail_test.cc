// Detail pools of programs that mean ill: every word wild, and changing while it is read. The reader must neither crash
// nor hang, nor read outside, nor give more than it was asked for; what it makes of such a pool does not matter.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/testing/repetitions.h"
#include "base/time.h"
#include "node-agent/detail/detail_reader.h"
#include "node-agent/testing/detail_events.h"

namespace fathom::agent {
namespace {

using testing::ScriptedDetail;

constexpr uint32_t kLargeChunks = 4, kSmallChunks = 12, kChunks = kLargeChunks + kSmallChunks;
constexpr uint64_t kBudget = 100 * 1024;
constexpr size_t kWrittenOnce = 64;  // the begin of the header; other tests change that

void fill(ScriptedDetail& pool) {
  testing::describe_numbered(pool);
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    pool.claim(chunk, chunk * 1000);
    pool.put(chunk, testing::owner_record(chunk, chunk * 1000));
    pool.put(chunk, testing::spans_record(chunk * 1000, {1, 2}));
    for (uint64_t n = 0; pool.put(chunk, testing::numbered_record(n, chunk * 1000 + n, n % 300)); ++n) {
    }
    if (chunk % 2 == 0) pool.seal(chunk, chunk * 1000 + 999);
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

// All that a reader does with a pool, every byte touched.
uint64_t read(DetailReader& reader, const TickWindow& window) {
  DetailSnapshot snapshot = reader.snapshot(window, kBudget);
  EXPECT_LE(snapshot.bytes(), kBudget);
  uint64_t sum = snapshot.losses.list().size();
  DecodeCounts counts = decode(snapshot, [&](const EventView& event) {
    sum += to_text(event).size() + event.spans.size();
    EXPECT_LE(event.values.size(), pool::kMostFields);
  });
  EXPECT_LE(counts.walk.records * pool::kLeastRecordBytes, kBudget);
  return sum;
}

size_t end_of_entries() {
  return pool::kPageBytes + kChunks * sizeof(pool::DetailEntry);
}

// Any byte of the header, the entries, the table or a chunk.
size_t wild_place(ScriptedDetail& pool, std::mt19937_64& random) {
  constexpr size_t kRoom = sizeof(uint64_t);
  switch (random() % 4) {
    case 0:
      return kWrittenOnce + random() % (end_of_entries() - kWrittenOnce - kRoom);
    case 1:
      return pool.header().table_offset + random() % 256;
    default: {
      auto chunk = static_cast<uint32_t>(random() % kChunks);
      return static_cast<size_t>(pool.chunk(chunk) - pool.memory()) + random() % (pool.chunk_bytes(chunk) - kRoom);
    }
  }
}

TEST(HostileDetail, WildWordsAtRest) {
  for (uint64_t seed = 0; seed < repetitions(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    ScriptedDetail pool({.large = kLargeChunks,
                         .small = kSmallChunks,
                         .mode = seed % 2 == 0 ? pool::DetailMode::kOverwrite : pool::DetailMode::kDiscard});
    fill(pool);
    DetailReader reader(testing::open_detail(pool));
    for (uint64_t i = 0; i < 1 + random() % 300; ++i) {
      uint64_t value = wild(random);
      std::memcpy(pool.memory() + wild_place(pool, random), &value, 1 + random() % sizeof value);
    }
    read(reader, {});
    read(reader, {wild(random), wild(random)});
  }
}

TEST(HostileDetail, WildWordsBetweenTheReadersSteps) {
  for (uint64_t seed = 0; seed < repetitions(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    ScriptedDetail pool({.large = kLargeChunks, .small = kSmallChunks});
    fill(pool);
    DetailReader reader(testing::open_detail(pool), [&] {
      uint64_t value = wild(random);
      auto chunk = static_cast<uint32_t>(random() % kChunks);
      std::memcpy(pool.memory() + wild_place(pool, random), &value, sizeof value);
      if (random() % 4 == 0) {  // some of it must look right, or little is read
        auto state = static_cast<pool::DetailState>(random() % 4);
        pool.entry(chunk).state.store(pool::pack_detail(pool.epoch(chunk), state, 1));
        pool.entry(chunk).used.store(static_cast<uint32_t>(wild(random)));
      }
    });
    for (int i = 0; i < 5; ++i) read(reader, {});
  }
}

TEST(HostileDetail, MemoryThatChangesWhileItIsRead) {
  ScriptedDetail pool({.large = kLargeChunks, .small = kSmallChunks});
  fill(pool);
  DetailReader reader(testing::open_detail(pool));
  std::atomic<bool> stop{false};
  std::thread program([&] {
    std::mt19937_64 random(5);
    while (!stop.load(std::memory_order_relaxed)) {
      auto* word = reinterpret_cast<std::atomic<uint64_t>*>(pool.memory() + wild_place(pool, random) / 8 * 8);
      word->store(random() % 2 == 0 ? wild(random) : word->load(std::memory_order_relaxed) + 8,
                  std::memory_order_relaxed);
      auto chunk = static_cast<uint32_t>(random() % kChunks);
      if (random() % 16 == 0) {
        pool.entry(chunk).state.store(pool::pack_detail(3, static_cast<pool::DetailState>(random() % 4), 1));
      }
    }
  });
  uint64_t end = now_monotonic_nano() + kNanosPerSecond;
  while (now_monotonic_nano() < end) read(reader, {});
  stop.store(true);
  program.join();
}

TEST(HostileDetail, HolesInItsMemoryAreZeros) {
  ScriptedDetail pool({.large = kLargeChunks, .small = kSmallChunks});
  fill(pool);
  DetailReader reader(testing::open_detail(pool));
  Fd file = pool.descriptor();
  ASSERT_EQ(::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(pool.bytes())),
            0);
  DetailSnapshot snapshot = reader.snapshot({}, kBudget);
  EXPECT_EQ(snapshot.chunks.size(), 0u);
  EXPECT_EQ(snapshot.table.all().size(), 0u);
}

}  // namespace
}  // namespace fathom::agent
