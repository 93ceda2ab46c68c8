// A program whose threads write spans and events at full speed while another one forks children that do the same.
#include <fathom/event.h>
#include <fathom/trace.h>
#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>

#include "client/process.h"
#include "client/testing/detail_reader.h"
#include "client/testing/open_reader.h"
#include "client/testing/own_process.h"
#include "client/testing/pool_reader.h"

namespace fathom::client {
namespace {

using testing::DetailReader;
using testing::in_own_process;
using testing::OpenReader;
using testing::PoolReader;
using testing::ReadEvent;
using testing::ReadSpan;

constexpr int kLoadThreads = 3;

// Every span has an event that says which span it was made in.
void work(uint64_t writer, uint64_t number) {
  Span span("work");
  span.set("writer", writer).set("number", number).set("pid", static_cast<int64_t>(getpid()));
  FATHOM_EVENT_ON("load", "writer", writer, "number", number, "pid", static_cast<uint64_t>(getpid()));
}

struct Load {
  std::atomic<bool> done{false};
  std::atomic<uint64_t> made{0};
  void run(uint64_t writer) {
    for (uint64_t i = 0; !done.load(std::memory_order_relaxed); i++) {
      work(writer, i);
      made.fetch_add(1, std::memory_order_relaxed);
    }
  }
};

std::string key(const std::string& writer, const std::string& number) {
  return writer + "/" + number;
}

// Where an event and its span are both still there, they belong together; all are this process's.
void expect_own(const std::vector<ReadSpan>& spans, const std::vector<ReadEvent>& events) {
  const std::string pid = std::to_string(getpid());
  std::map<std::string, std::string> ids;
  for (const ReadSpan& span : spans) {
    if (span.name != "work") continue;
    EXPECT_EQ(span.attribute("pid"), pid) << "another process's span";
    EXPECT_TRUE(ids.emplace(key(span.attribute("writer"), span.attribute("number")), span.span_id).second) << "twice";
  }
  uint64_t together = 0, apart = 0, foreign = 0;
  for (const ReadEvent& event : events) {
    if (event.name != "load") continue;
    foreign += event["pid"] == pid ? 0 : 1;
    const auto span = ids.find(key(event["writer"], event["number"]));
    if (span == ids.end()) continue;
    (span->second == event.span_id ? together : apart)++;
  }
  EXPECT_EQ(foreign, 0U) << "of another process";
  EXPECT_EQ(apart, 0U);
  EXPECT_GT(together, 0U);
}

int child_under_load() {
  Load load;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 2; t++) threads.emplace_back([&, t] { load.run(100 + t); });
  for (uint64_t i = 0; i < 200; i++) work(7, i);
  load.done = true;
  for (std::thread& thread : threads) thread.join();
  PoolReader reader = PoolReader::of_this_process();
  DetailReader detail = DetailReader::of_this_process();
  expect_own(reader.take(), detail.events());
  EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
  EXPECT_TRUE(detail.faults().empty()) << detail.faults()[0];
  const auto slots = OpenReader::of_this_process().slots();
  EXPECT_EQ(slots.size(), 1U) << "the threads gave theirs back";
  EXPECT_TRUE(slots.empty() || slots[0].tid == static_cast<uint32_t>(gettid()));
  return ::testing::Test::HasFailure() ? 1 : 0;
}

TEST(ForkLoad, ParentAndChildrenEachHaveTheirOwn) {
  in_own_process([] {
    settings.detail_mib = 4;
    Load load;
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kLoadThreads; t++) threads.emplace_back([&, t] { load.run(t); });
    PoolReader reader = PoolReader::of_this_process();
    std::vector<ReadSpan> last;
    uint64_t taken = 0;
    for (int i = 0; i < 12; i++) {
      work(50, static_cast<uint64_t>(i));
      in_own_process([] { EXPECT_EQ(child_under_load(), 0); });
      taken += reader.take_count();
    }
    load.done = true;
    for (std::thread& thread : threads) thread.join();
    last = reader.take();
    for (uint64_t i = 0; i < 100; i++) work(60, i);
    std::vector<ReadSpan> rest = reader.take();
    taken += last.size();
    EXPECT_EQ(taken + reader.lost(pool::kLostPoolFull), load.made.load() + 12);
    DetailReader detail = DetailReader::of_this_process();
    expect_own(rest, detail.events());
    EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
    EXPECT_TRUE(detail.faults().empty()) << detail.faults()[0];
    EXPECT_EQ(fathom_lost_events(), 0U);
    EXPECT_EQ(OpenReader::of_this_process().slots().size(), 1U);
  });
}

uint64_t thread_cpu_nano() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// A thousand threads that each compute for a millisecond: what they wrote fills the pool, not what they left empty.
TEST(ThreadLoad, AThousandShortThreadsLeaveThePoolWellFilled) {
  in_own_process([] {
    settings.detail_mib = 1;
    std::atomic<uint64_t> number{0};
    for (int i = 0; i < 125; i++) {
      std::vector<std::thread> threads;
      for (int t = 0; t < 8; t++) {
        threads.emplace_back([&] {
          const uint64_t end = thread_cpu_nano() + 1'000'000;
          while (thread_cpu_nano() < end) {
            for (int n = 0; n < 10; n++) work(1, number.fetch_add(1));
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    EXPECT_EQ(OpenReader::of_this_process().slots().size(), 0U);
    DetailReader detail = DetailReader::of_this_process();
    uint64_t bytes = 0, used = 0;
    for (const auto& chunk : detail.chunks()) {
      if (chunk.state == pool::kDetailFree) continue;
      bytes += chunk.number < detail.header().large_chunks ? pool::kLargeBytes : pool::kSmallBytes;
      used += chunk.used;
    }
    EXPECT_GT(used * 2, bytes) << "half of what was taken";
    EXPECT_EQ(fathom_lost_events(), 0U);
  });
}

}  // namespace
}  // namespace fathom::client
