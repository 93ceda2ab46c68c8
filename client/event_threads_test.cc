// Many threads that write little and end leave the pool well filled: what one leaves half full, another goes on in.
#include <fathom/event.h>
#include <gtest/gtest.h>

#include <latch>
#include <set>
#include <thread>

#include "client/testing/detail_reader.h"
#include "client/testing/own_process.h"

namespace fathom::client {
namespace {

using testing::DetailReader;
using testing::in_own_process;
using testing::ReadEvent;

constexpr int kEventsOfEach = 40;

// All of them are there at once for 1 ms at least, and longer where the machine is slow.
void live_at_once(int threads, uint64_t& numbers) {
  std::latch all_live(threads);
  std::vector<std::thread> living;
  for (int t = 0; t < threads; t++) {
    living.emplace_back([&all_live, number = numbers++] {
      for (int i = 0; i < kEventsOfEach / 2; i++) FATHOM_EVENT_ON("short.lived", "thread", number);
      all_live.arrive_and_wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      for (int i = kEventsOfEach / 2; i < kEventsOfEach; i++) FATHOM_EVENT_ON("short.lived", "thread", number);
    });
  }
  for (std::thread& thread : living) thread.join();
}

// Of the sealed chunks: the bytes of their records, by all of their bytes.
double fill_of(DetailReader& reader) {
  uint64_t used = 0, bytes = 0;
  for (uint32_t i = 0; i < reader.count(); i++) {
    if (pool::state_of(reader.entry(i).state) != pool::kDetailSealed) continue;
    used += reader.entry(i).used;
    bytes += i < reader.header().large_chunks ? pool::kLargeBytes : pool::kSmallBytes;
  }
  return static_cast<double>(used) / static_cast<double>(bytes);
}

// A thread's events are all there, or the older ones have been overwritten.
void expect_whole_threads(DetailReader& reader, uint64_t first, uint64_t end) {
  std::map<uint64_t, int> events;
  for (const ReadEvent& event : reader.events()) events[event.number("thread")]++;
  for (uint64_t number = first; number < end; number++) EXPECT_EQ(events[number], kEventsOfEach) << number;
  EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
  EXPECT_EQ(fathom_lost_events(), 0U);
}

TEST(DetailPool, ThousandsOfThreadsLeaveItWellFilled) {
  in_own_process([] {
    constexpr int kAtOnce = 200;
    uint64_t threads = 0;
    live_at_once(kAtOnce, threads);
    DetailReader reader = DetailReader::of_this_process();
    // As much as two laps through the small chunks, or as this takes when they are half empty.
    while (threads * kEventsOfEach * 24 < 2 * uint64_t{reader.header().small_chunks} * pool::kSmallBytes) {
      live_at_once(kAtOnce, threads);
    }
    EXPECT_GT(threads, 1000U);
    EXPECT_EQ(reader.chunks_in_state(pool::kDetailOwned), 0U);
    EXPECT_GT(fill_of(reader), 0.6);
    expect_whole_threads(reader, threads - kAtOnce, threads);
  });
}

// Where there are more of them at once than small chunks, some begin in large ones; others go on in those.
TEST(DetailPool, MoreThreadsThanSmallChunksTakeFewLargeOnes) {
  in_own_process([] {
    constexpr int kAtOnce = 600, kTimes = 5;
    uint64_t threads = 0;
    for (int i = 0; i < kTimes; i++) live_at_once(kAtOnce, threads);
    DetailReader reader = DetailReader::of_this_process();
    std::set<uint32_t> large;
    for (uint32_t i = 0; i < reader.header().large_chunks; i++) {
      if (pool::state_of(reader.entry(i).state) != pool::kDetailFree) large.insert(i);
    }
    EXPECT_LE(large.size(), 2 * (kAtOnce - reader.header().small_chunks));
    expect_whole_threads(reader, threads - kAtOnce, threads);
  });
}

}  // namespace
}  // namespace fathom::client
