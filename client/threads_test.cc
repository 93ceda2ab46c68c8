#include <fathom/trace.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "base/span_threads.h"
#include "client/process.h"
#include "client/testing/pool_reader.h"

namespace fathom::client {
namespace {

using testing::PoolReader;
using testing::ReadSpan;

constexpr int kTracedThreads = 8;
constexpr int kSpansEach = 4000;

// The start thread that the span names; "?": it names none.
std::string start_thread(const ReadSpan& span) {
  return span.attribute(std::string(kStartThreadId));
}

// What each thread stored, by the numbers that it gave its spans.
class Ledger {
 public:
  void enter(const std::vector<ReadSpan>& spans) {
    for (const ReadSpan& span : spans) {
      EXPECT_EQ(span.attribute("text"), std::string(std::stoul(span.attribute("number")) % 300, 'x'));
      EXPECT_TRUE(seen_.emplace(span.attribute("thread") + "/" + span.attribute("number")).second) << "twice";
    }
  }
  size_t size() const { return seen_.size(); }

 private:
  std::set<std::string> seen_;
};

void make_spans(int thread) {
  for (int i = 0; i < kSpansEach; i++) {
    Span span("work");
    span.set("thread", thread).set("number", i).set("text", std::string(static_cast<size_t>(i % 300), 'x'));
  }
}

TEST(Threads, WriteWhileAReaderReads) {
  PoolReader reader = PoolReader::of_this_process();
  reader.take();
  const uint64_t lost_before = fathom_lost_spans();
  std::atomic<int> running{kTracedThreads};
  std::vector<std::thread> writers;
  for (int t = 0; t < kTracedThreads; t++) {
    writers.emplace_back([t, &running] {
      make_spans(t);
      running--;
    });
  }
  Ledger ledger;
  while (running.load() > 0) ledger.enter(reader.take());
  for (std::thread& writer : writers) writer.join();
  ledger.enter(reader.take());
  EXPECT_EQ(ledger.size() + fathom_lost_spans() - lost_before, size_t{kTracedThreads} * kSpansEach);
  EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
}

TEST(Threads, AThreadsEndSealsItsChunk) {
  PoolReader reader = PoolReader::of_this_process();
  { const Span span("the main thread has a chunk"); }
  const uint32_t owned = reader.chunks_in_state(pool::kOwned);
  std::thread([&] {
    const Span span("short");
    EXPECT_EQ(reader.chunks_in_state(pool::kOwned), owned);  // it takes one when a span ends
  }).join();
  EXPECT_EQ(reader.chunks_in_state(pool::kOwned), owned);
  reader.take();
  EXPECT_EQ(reader.chunks_in_state(pool::kSealed), 0U);
}

// Each keeps a chunk of its own: servers with a thread per connection have many.
TEST(Threads, ManyThreadsLiveAtOnceWithoutALoss) {
  constexpr int kMany = 700;
  PoolReader reader = PoolReader::of_this_process();
  reader.take();
  const uint64_t lost_before = fathom_lost_spans();
  std::latch finished(kMany + 1), leave(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kMany; t++) {
    threads.emplace_back([&] {
      { const Span span("one of many"); }
      finished.count_down();
      leave.wait();
    });
  }
  finished.arrive_and_wait();
  EXPECT_EQ(fathom_lost_spans(), lost_before);
  EXPECT_EQ(reader.take().size(), size_t{kMany});
  leave.count_down();
  for (std::thread& thread : threads) thread.join();
  reader.take();
  EXPECT_EQ(reader.chunks_in_state(pool::kSealed), 0U);
}

// Spans at the very end of a thread, from a destructor that comes after the library's own.
pthread_key_t late_key;
void late(void* value) {
  { const Span span("late"); }
  auto& rounds = *static_cast<int*>(value);
  if (--rounds > 0) pthread_setspecific(late_key, value);
}

TEST(Threads, SpansInLateDestructorsLeaveNoChunkBehind) {
  PoolReader reader = PoolReader::of_this_process();
  reader.take();
  const uint32_t owned = reader.chunks_in_state(pool::kOwned);
  ASSERT_EQ(pthread_key_create(&late_key, late), 0);
  int rounds = 2;
  std::thread([&] {
    pthread_setspecific(late_key, &rounds);
    const Span span("early");
  }).join();
  pthread_key_delete(late_key);
  EXPECT_EQ(reader.take().size(), 3U);
  EXPECT_EQ(reader.chunks_in_state(pool::kOwned), owned);
}

TEST(Threads, ADetachedSpanGoesFromThreadToThread) {
  PoolReader reader = PoolReader::of_this_process();
  reader.take();
  DetachedSpan span("begun here");
  span.set("a", 1);
  std::thread([moved = std::move(span)]() mutable {
    moved.set("b", 2);
    moved.end();
  }).join();
  const std::vector<ReadSpan> spans = reader.take();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].attribute("a") + spans[0].attribute("b"), "12");
}

// The owner of a span's chunk is the thread that ended the span.
TEST(Threads, ASpanThatEndsOnAnotherThreadNamesTheOneItStartedOn) {
  PoolReader reader = PoolReader::of_this_process();
  reader.take();
  const std::string own_tid = std::to_string(gettid());
  for (const size_t size : {10U, 3000U}) {
    DetachedSpan span("handed on");
    span.set("text", std::string(size, 'x'));
    std::thread([moved = std::move(span)]() mutable { moved.end(); }).join();
    const std::vector<ReadSpan> spans = reader.take();
    ASSERT_EQ(spans.size(), 1U);
    EXPECT_EQ(start_thread(spans[0]), own_tid);
    EXPECT_EQ(spans[0].attribute("text"), std::string(size, 'x'));
  }
}

// The same for a span that is active when it ends.
TEST(Threads, ASpanThatIsActiveElsewhereNamesTheThreadItStartedOn) {
  PoolReader reader = PoolReader::of_this_process();
  reader.take();
  fathom_span span;
  fathom_span_start_here(&span, {"x", 1}, FATHOM_INTERNAL);
  std::thread([&span] {
    { const Span other("the thread is known"); }
    fathom_span_activate(&span);
    fathom_span_end(&span);
  }).join();
  const std::vector<ReadSpan> spans = reader.take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(start_thread(spans[1]), std::to_string(gettid()));
}

// The end of the span ends its activation on the other thread.
TEST(Threads, ASpanThatWasActiveNamesTheThreadItStartedOnOnlyIfItEndsElsewhere) {
  PoolReader reader = PoolReader::of_this_process();
  reader.take();
  const auto activate = [](DetachedSpan& span) {
    const Activation active(span);
    span.set("a", 1);
  };
  const auto elsewhere = [](auto work) { std::thread(work).join(); };
  DetachedSpan here("here"), back("back"), away("away"), twice("twice"), active_again("active again");
  activate(here);
  elsewhere([&] { here.end(); });
  elsewhere([&] { activate(away), away.end(); });
  elsewhere([&] { activate(twice); });
  elsewhere([&] { twice.end(); });
  elsewhere([&] { activate(back), activate(active_again); });
  back.end();
  fathom_span_activate(active_again.raw());
  active_again.end();
  std::map<std::string, std::string> named;
  for (const ReadSpan& span : reader.take()) named[span.name] = start_thread(span) + " " + span.attribute("a");
  const std::string own = std::to_string(gettid()) + " 1";
  EXPECT_EQ(named, (std::map<std::string, std::string>{
                       {"here", own}, {"away", own}, {"twice", own}, {"back", "? 1"}, {"active again", "? 1"}}));
}

TEST(Threads, ASpanThatEndsWhereItStartedNamesNoThread) {
  PoolReader reader = PoolReader::of_this_process();
  reader.take();
  {
    const Span scoped("scoped");
    DetachedSpan detached("detached");
    const Span large(std::string(600, 'x'));
    DetachedSpan away("there and back");
    std::thread([&away] { away.set("a", 1); }).join();
  }
  const std::vector<ReadSpan> spans = reader.take();
  ASSERT_EQ(spans.size(), 4U);
  for (const ReadSpan& span : spans) EXPECT_EQ(start_thread(span), "?") << span.name;
}

}  // namespace
}  // namespace fathom::client
