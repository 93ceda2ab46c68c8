// Tests the thread ids of spans that an agent takes from a program's memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <thread>

#include "base/span_threads.h"
#include "node-agent/testing/agent_fixture.h"

namespace fathom::agent {
namespace {

using testing::make_record;
using testing::ScriptedPool;
using testing::SocketClient;

class DrainedThreadsTest : public testing::AgentTest {
 protected:
  // The budget suffices for any look, even on a slow machine.
  DrainedThreadsTest() {
    options_.drain.thread_looks.budget_nano = 100 * kNanosPerSecond;
    keeps_ = false;
  }
  // The thread id in the only span of a program whose header has the process id `own_pid`; -1: none.
  int64_t thread_of_span(uint32_t own_pid, uint32_t owner_tid) {
    must_start();
    ScriptedPool pool;
    pool.header().pid = own_pid;
    SocketClient program(options_.listener.path);
    EXPECT_EQ(offer(program, pool), pool::Verdict::kTaken);
    pool.claim(0);
    return thread_of_next_span(pool, 0, owner_tid);
  }
  // Writes one span into the chunk, and returns the thread id in the next batch.
  int64_t thread_of_next_span(ScriptedPool& pool, uint32_t chunk, uint32_t owner_tid) {
    pool.entry(chunk).owner_tid.store(owner_tid);
    pool.put(chunk, make_record(++spans_));
    EXPECT_TRUE(until([&] { return !outbox_.waiting.empty(); }));
    if (outbox_.waiting.empty()) return -1;
    const int64_t named = named_in(outbox_.waiting[0].batch.otlp);
    outbox_.keep_one();
    return named;
  }

 private:
  static int64_t named_in(const std::string& otlp) {
    opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest request;
    EXPECT_TRUE(request.ParseFromString(otlp));
    for (const auto& attribute : request.resource_spans(0).scope_spans(0).spans(0).attributes()) {
      if (attribute.key() == kThreadId) return attribute.value().int_value();
    }
    return -1;
  }

  uint64_t spans_ = 0;
};

// The agent knows nothing else about this thread: its id is in the chunk only.
TEST_F(DrainedThreadsTest, ASpanNamesTheThreadThatItsChunkIsOf) {
  EXPECT_EQ(thread_of_span(static_cast<uint32_t>(::getpid()), 4711), 4711);
}

// To the agent, this process looks like one in a pid namespace of its own.
TEST_F(DrainedThreadsTest, AThreadWithAnotherNumberIsLookedFor) {
  EXPECT_EQ(thread_of_span(1, static_cast<uint32_t>(::gettid())), ::gettid());
}

// The thread lives for one batch, right after a batch for which the program's threads were listed.
TEST_F(DrainedThreadsTest, AThreadThatLivesShortlyIsNamedFromItsFirstBatchOn) {
  must_start();
  ScriptedPool pool;
  pool.header().pid = 1;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), pool::Verdict::kTaken);
  for (const uint32_t chunk : {0, 1}) pool.claim(chunk);
  EXPECT_EQ(thread_of_next_span(pool, 0, static_cast<uint32_t>(::gettid())), ::gettid());
  std::atomic<pid_t> tid = 0;
  std::latch has_batch(1);
  std::thread thread([&] {
    tid = ::gettid();
    tid.notify_one();
    has_batch.wait();
  });
  tid.wait(0);
  EXPECT_EQ(thread_of_next_span(pool, 1, static_cast<uint32_t>(tid.load())), tid.load());
  has_batch.count_down();
  thread.join();
  EXPECT_EQ(thread_of_next_span(pool, 1, static_cast<uint32_t>(tid.load())), tid.load()) << "it has ended";
}

TEST_F(DrainedThreadsTest, WithoutTimeNoThreadIsLookedFor) {
  options_.drain.thread_looks.budget_nano = 0;
  EXPECT_EQ(thread_of_span(1, static_cast<uint32_t>(::gettid())), -1);
}

TEST_F(DrainedThreadsTest, AThreadWithTheNodesNumberNeedsNoTime) {
  options_.drain.thread_looks.budget_nano = 0;
  EXPECT_EQ(thread_of_span(static_cast<uint32_t>(::getpid()), static_cast<uint32_t>(::gettid())), ::gettid());
}

TEST_F(DrainedThreadsTest, AThreadThatHasEndedThereIsNotNamed) {
  EXPECT_EQ(thread_of_span(1, 4'194'303), -1);
}

}  // namespace
}  // namespace fathom::agent
