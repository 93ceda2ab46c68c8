#include "node-agent/kernel/ring_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "node-agent/testing/ring_memory.h"

namespace fathom::agent::kernel {
namespace {

using testing::record_at;
using testing::RingMemory;
using Numbers = std::vector<uint64_t>;

constexpr uint64_t kStart = 1'000'000'000;

struct Seen {
  Numbers numbers;  // newest first
  RingLosses losses;
};

Seen read_numbers(const RingMemory& ring, uint64_t begin_nano = 0) {
  Seen seen;
  seen.losses = read_ring(ring.view(), begin_nano, [&](const Record& r) { seen.numbers.push_back(r.sequence); });
  return seen;
}

Numbers down(uint64_t from, uint64_t to) {
  Numbers numbers;
  for (uint64_t n = from; n >= to; --n) numbers.push_back(n);
  return numbers;
}

TEST(RingReader, AnEmptyRingIsComplete) {
  Seen seen = read_numbers(RingMemory(1024));
  EXPECT_TRUE(seen.numbers.empty());
  EXPECT_EQ(seen.losses.complete_from_nano, 0U);
}

TEST(RingReader, TheNewestFirst) {
  RingMemory ring(1024);
  for (uint64_t i = 1; i <= 300; ++i) ring.write(record_at(kStart + i));
  Seen seen = read_numbers(ring);
  EXPECT_EQ(seen.numbers, down(300, 1));
  EXPECT_EQ(seen.losses.overwritten + seen.losses.torn, 0U);
  EXPECT_EQ(seen.losses.complete_from_nano, 0U);
}

TEST(RingReader, WhatWentRoundIsSaid) {
  RingMemory ring(256);
  for (uint64_t i = 1; i <= 1000; ++i) ring.write(record_at(kStart + i));
  Seen seen = read_numbers(ring);
  EXPECT_EQ(seen.numbers, down(1000, 745));
  EXPECT_EQ(seen.losses.complete_from_nano, kStart + 745);
}

TEST(RingReader, AWindowThatIsStillThereIsComplete) {
  RingMemory ring(256);
  const uint64_t step = kDisorderNano / 10;
  for (uint64_t i = 1; i <= 1000; ++i) ring.write(record_at(kStart + i * step));
  Seen seen = read_numbers(ring, kStart + 900 * step);
  EXPECT_EQ(seen.numbers, down(1000, 890)) << "and what may have been written out of order";
  EXPECT_EQ(seen.losses.complete_from_nano, 0U);
}

TEST(RingReader, WhatIsNotFinishedIsTorn) {
  RingMemory ring(256);
  for (uint64_t i = 1; i <= 300; ++i) ring.write(record_at(kStart + i));
  const uint64_t open = ring.reserve();
  ring.fill(open, record_at(kStart + 301));
  ring.write(record_at(kStart + 302));
  Seen seen = read_numbers(ring);
  EXPECT_EQ(seen.losses.torn, 1U);
  EXPECT_EQ(seen.numbers.size(), 255U);
  EXPECT_EQ(seen.numbers.front(), 302U);
  EXPECT_EQ(seen.numbers[1], 300U);
  ring.commit(open);
  EXPECT_EQ(read_numbers(ring).numbers, down(302, 47));
}

// The writer goes round while the reader hands over its first records.
TEST(RingReader, WhatIsOverwrittenMeanwhileIsCounted) {
  RingMemory ring(256);
  for (uint64_t i = 1; i <= 256; ++i) ring.write(record_at(kStart + i));
  Numbers numbers;
  RingLosses losses = read_ring(ring.view(), 0, [&](const Record& record) {
    if (record.sequence == 256) {
      for (uint64_t i = 1; i <= 100; ++i) ring.write(record_at(kStart + 256 + i));
    }
    numbers.push_back(record.sequence);
  });
  EXPECT_EQ(numbers, down(256, 101));
  EXPECT_EQ(losses.overwritten, 100U);
  EXPECT_EQ(losses.torn, 0U);
  EXPECT_EQ(losses.complete_from_nano, kStart + 101);
}

TEST(RingReader, WhatIsOverwrittenBeforeTheWindowIsNoLoss) {
  RingMemory ring(256);
  const uint64_t step = kDisorderNano / 10;
  for (uint64_t i = 1; i <= 256; ++i) ring.write(record_at(kStart + i * step));
  RingLosses losses = read_ring(ring.view(), kStart + 200 * step, [&](const Record& record) {
    if (record.sequence != 256) return;
    for (uint64_t i = 1; i <= 100; ++i) ring.write(record_at(kStart + (256 + i) * step));
  });
  EXPECT_EQ(losses.overwritten, 0U);
  EXPECT_EQ(losses.complete_from_nano, 0U);
}

TEST(RingReader, AHeaderThatMakesNoSenseCostsOnlyEvents) {
  RingMemory ring(256);
  for (uint64_t i = 1; i <= 256; ++i) ring.write(record_at(kStart + i));
  ring.header().reserved = UINT64_MAX;
  Seen seen = read_numbers(ring);
  EXPECT_TRUE(seen.numbers.empty());
  EXPECT_EQ(seen.losses.torn, 256U);
  EXPECT_EQ(seen.losses.complete_from_nano, UINT64_MAX);
}

// Interrupts that write in the middle of another's record, and readers at any moment, against a model.
TEST(RingReader, NestedWritersAgainstAModel) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    RingMemory ring(64);
    std::vector<uint64_t> open;
    std::vector<uint64_t> slots(64);  // who finished there last: an interrupt may even last for a lap
    uint64_t newest = 0;
    for (int step = 0; step < 2000; ++step) {
      const uint32_t choice = random() % 8;
      if (choice < 3 && open.size() < 4) {
        open.push_back(newest = ring.reserve());
        ring.fill(newest, record_at(kStart + newest));
      } else if (choice < 7 && !open.empty()) {
        // What began last ends first, as interrupts do.
        ring.commit(open.back());
        slots[open.back() % 64] = open.back();
        open.pop_back();
      } else {
        Numbers expected;
        for (uint64_t n = newest; n > 0 && n + 64 > newest; --n) {
          if (slots[n % 64] == n) expected.push_back(n);
        }
        Seen seen = read_numbers(ring);
        ASSERT_EQ(seen.numbers, expected) << "seed " << seed << ", step " << step;
        ASSERT_EQ(seen.numbers.size() + seen.losses.torn, std::min<uint64_t>(newest, 64));
      }
    }
  }
}

Record checked(uint64_t number) {
  Record record = record_at(kStart + number);
  for (uint64_t i = 0; i < 4; ++i) record.words[i] = number * 0x9e3779b97f4a7c15 + i;
  return record;
}

bool is_whole(const Record& record) {
  for (uint64_t i = 0; i < 4; ++i) {
    if (record.words[i] != record.sequence * 0x9e3779b97f4a7c15 + i) return false;
  }
  return record.monotonic_nano == kStart + record.sequence;
}

TEST(RingReader, NothingTornBesideAWriterAtFullSpeed) {
  RingMemory ring(256);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t n = 1; !stop.load(std::memory_order_relaxed); ++n) ring.write(checked(n));
  });
  while (read_numbers(ring).numbers.empty()) std::this_thread::yield();
  for (int round = 0; round < 2000; ++round) {
    uint64_t last = UINT64_MAX;
    uint64_t wrong = 0;
    read_ring(ring.view(), 0, [&](const Record& record) {
      if (!is_whole(record) || record.sequence >= last) ++wrong;
      last = record.sequence;
    });
    ASSERT_EQ(wrong, 0U) << "round " << round;
  }
  stop.store(true);
  writer.join();
}

}  // namespace
}  // namespace fathom::agent::kernel
