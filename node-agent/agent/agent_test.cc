#include "node-agent/agent/agent.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <deque>
#include <filesystem>

#include "node-agent/testing/agent_fixture.h"

namespace fathom::agent {
namespace {

using pool::Verdict;
using testing::FakeOutbox;
using testing::kMilli;
using testing::make_record;
using testing::ScriptedPool;
using testing::Sleeper;
using testing::SocketClient;
using testing::Stored;

class AgentTest : public testing::AgentTest {
 protected:
  // Writes a span when the one before is stored. `own_pid`: the program's process id in its own pid namespace.
  void must_store_one_by_one(uint32_t own_pid) {
    must_start();
    ScriptedPool pool;
    pool.header().pid = own_pid;
    SocketClient program(options_.listener.path);
    ASSERT_EQ(offer(program, pool), Verdict::kTaken);
    pool.claim(0);
    for (uint64_t number : {1, 2, 3}) {
      pool.put(0, make_record(number));
      ASSERT_TRUE(until([&] { return outbox_.stored.contains(number); })) << number;
    }
  }
};

TEST_F(AgentTest, CarriesSpansFromAProgramsMemory) {
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  EXPECT_EQ(agent_->programs(), 1u);
  pool.claim(0);
  for (uint64_t i = 0; i < 10; ++i) pool.put(0, make_record(i));
  ASSERT_TRUE(until([&] { return outbox_.stored.size() == 10; }));
  pool.put(0, make_record(10));
  pool.seal(0);
  ASSERT_TRUE(until([&] { return pool.state(0) == pool::kFree; }));
  EXPECT_EQ(outbox_.stored.size(), 11u);
  EXPECT_EQ(outbox_.repeated, 0);
}

TEST_F(AgentTest, SomeSpansWaitForOthersAndManyDoNot) {
  options_.drain.batch_pause_nano = options_.drain.pause_per_span_nano = 3600 * kNanosPerSecond;
  must_start();
  constexpr uint32_t kChunks = 16;
  ScriptedPool pool(kChunks);
  pool.header().pid = static_cast<uint32_t>(::getpid());  // its thread ids are the node's
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  pool.claim(0);
  pool.put(0, make_record(1));
  ASSERT_TRUE(until([&] { return outbox_.stored.contains(1); })) << "the first one does not wait";
  pool.put(0, make_record(2));
  pass_ticks(5);
  EXPECT_FALSE(outbox_.stored.contains(2));
  uint64_t number = 3;
  for (uint32_t chunk = 1; chunk < kChunks; ++chunk) {
    pool.claim(chunk);
    while (pool.put(chunk, make_record(number))) ++number;
  }
  EXPECT_TRUE(until([&] { return outbox_.stored.size() == number - 1; }));
}

TEST_F(AgentTest, AProgramWithFewSpansIsReadOften) {
  options_.drain.batch_pause_nano = 3600 * kNanosPerSecond;
  options_.drain.pause_per_span_nano = 1;
  must_store_one_by_one(static_cast<uint32_t>(::getpid()));
}

TEST_F(AgentTest, AProgramWithThreadIdsOfItsOwnIsReadOften) {
  options_.drain.batch_pause_nano = options_.drain.pause_per_span_nano = 3600 * kNanosPerSecond;
  must_store_one_by_one(1);
}

TEST_F(AgentTest, AChunkIsGivenBackOnlyWhenItsBatchIsKept) {
  keeps_ = false;
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  pool.claim(0);
  pool.put(0, make_record(1));
  pool.seal(0);
  ASSERT_TRUE(until([&] { return outbox_.waiting.size() == 1; }));
  pass_ticks(5);
  EXPECT_EQ(pool.state(0), pool::kSealed);
  EXPECT_EQ(outbox_.waiting.size(), 1u) << "one batch of a pool at a time";
  outbox_.keep_all();
  EXPECT_EQ(pool.state(0), pool::kFree);
}

TEST_F(AgentTest, WithoutRoomSpansStayWhereTheyAre) {
  outbox_.has_room = false;
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  pool.claim(0);
  pool.put(0, make_record(1));
  Counter& pressure = counter("fathom_agent_back_pressure_total", "");
  uint64_t before = pressure.value();
  pass_ticks(5);
  EXPECT_GT(pressure.value(), before);
  EXPECT_TRUE(outbox_.waiting.empty());
  EXPECT_EQ(pool.entry(0).acknowledged.load(), 0u);
  outbox_.has_room = true;
  EXPECT_TRUE(until([&] { return outbox_.stored.size() == 1; }));
}

// Of how many descriptors of this process a pool is the file: the test's own, and the agent's.
size_t descriptors_of(ScriptedPool& pool) {
  Fd own = pool.descriptor();
  struct stat file {};
  ::fstat(own.get(), &file);
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    struct stat other {};
    bool same = ::stat(entry.path().c_str(), &other) == 0 && other.st_dev == file.st_dev && other.st_ino == file.st_ino;
    count += same ? 1 : 0;
  }
  return count;
}

TEST_F(AgentTest, AProgramThatIsDroppedWithoutItsTurnKeepsNoMemory) {
  outbox_.has_room = false;
  options_.limits.most_bytes_of_ended = 0;
  ScriptedPool dropped;
  Sleeper process;
  dropped.claim(0);
  dropped.put(0, make_record(1));
  size_t before = descriptors_of(dropped);
  std::vector<InheritedFd> all;
  all.push_back(kept(dropped, process.pid()));
  Counter& pressure = counter("fathom_agent_back_pressure_total", "");
  uint64_t waited = pressure.value();
  must_start(std::move(all));
  ASSERT_TRUE(until([&] { return pressure.value() > waited; })) << "its turn has come, and there is no room";
  ScriptedPool next;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, next), Verdict::kTaken);
  next.claim(0);
  next.put(0, make_record(2));
  EXPECT_EQ(descriptors_of(dropped), before + 1);
  process.kill();
  ASSERT_TRUE(until([&] { return agent_->programs() == 1; }));
  EXPECT_EQ(descriptors_of(dropped), before);
  EXPECT_TRUE(outbox_.stored.empty());
  outbox_.has_room = true;
  EXPECT_TRUE(until([&] { return outbox_.stored.contains(2); })) << "the turn goes on to the next";
  EXPECT_EQ(outbox_.stored, (Stored{{2, 1}}));
}

TEST_F(AgentTest, ABusyProgramDoesNotKeepOthersWaiting) {
  outbox_.most_waiting = 1;
  options_.drain.batch_bytes = 1000;
  must_start();
  ScriptedPool busy(64);
  ScriptedPool quiet;
  SocketClient one(options_.listener.path);
  SocketClient two(options_.listener.path);
  for (uint32_t chunk = 0; chunk < 64; ++chunk) {
    busy.claim(chunk);
    while (busy.put(chunk, make_record(chunk))) {
    }
    busy.seal(chunk);
  }
  quiet.claim(0);
  quiet.put(0, make_record(1'000'000));
  keeps_ = false;
  ASSERT_EQ(offer(one, busy), Verdict::kTaken);
  ASSERT_EQ(offer(two, quiet), Verdict::kTaken);
  int batches = 0;
  while (!outbox_.stored.contains(1'000'000) && batches < 64) {
    ASSERT_TRUE(until([&] { return !outbox_.waiting.empty(); }));
    outbox_.keep_one();
    ++batches;
  }
  EXPECT_LE(batches, 4);
}

TEST_F(AgentTest, BatchesAreNoLargerThanTheOutboxTakes) {
  must_start();
  ScriptedPool pool(64);
  SocketClient program(options_.listener.path);
  uint64_t numbers = 0;
  for (uint32_t chunk = 0; chunk < 64; ++chunk) {
    pool.claim(chunk);
    while (pool.put(chunk, make_record(numbers))) ++numbers;
    pool.seal(chunk);
  }
  outbox_.largest_batch = 30'000;
  keeps_ = false;
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  while (outbox_.stored.size() < numbers) {
    ASSERT_TRUE(until([&] { return !outbox_.waiting.empty(); }));
    EXPECT_LE(outbox_.waiting[0].batch.otlp.size(), 30'000u);
    outbox_.keep_one();
  }
}

TEST_F(AgentTest, AUserOfManyPoolsDoesNotKeepOthersWaiting) {
  constexpr int kMany = 300;
  outbox_.most_waiting = 1;
  keeps_ = false;
  std::deque<ScriptedPool> greedy;
  std::vector<InheritedFd> all;
  for (uint64_t i = 0; i < kMany; ++i) {
    ScriptedPool& pool = greedy.emplace_back(1);
    pool.claim(0);
    pool.put(0, make_record(i));
    all.push_back(kept(pool, ::getpid(), 65'000));
  }
  must_start(std::move(all));
  ASSERT_TRUE(until([&] { return !outbox_.waiting.empty(); })) << "all of them wait for their turn";
  ScriptedPool modest;
  modest.claim(0);
  modest.put(0, make_record(1'000'000));
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, modest), Verdict::kTaken);
  int batches = 0;
  while (!outbox_.stored.contains(1'000'000) && batches < kMany) {
    ASSERT_TRUE(until([&] { return !outbox_.waiting.empty(); }));
    outbox_.keep_one();
    ++batches;
  }
  EXPECT_LE(batches, 4);
}

TEST_F(AgentTest, BesideAnotherAUserOfManyPoolsHasTwoBatchesUnderWay) {
  keeps_ = false;
  ScriptedPool modest;
  modest.claim(0);
  modest.put(0, make_record(1'000'000));
  std::deque<ScriptedPool> greedy;
  std::vector<InheritedFd> all;
  all.push_back(kept(modest, ::getpid()));
  for (uint64_t i = 0; i < 30; ++i) {
    ScriptedPool& pool = greedy.emplace_back(1);
    pool.claim(0);
    pool.put(0, make_record(i));
    all.push_back(kept(pool, ::getpid(), 65'000));
  }
  must_start(std::move(all));
  ASSERT_TRUE(until([&] { return outbox_.waiting.size() == 3; }));
  loop_.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(outbox_.waiting.size(), 3u) << "one of the modest, two of the greedy";
  while (outbox_.stored.size() < 31) {
    ASSERT_TRUE(until([&] { return !outbox_.waiting.empty(); })) << "and the others in their turn";
    outbox_.keep_one();
  }
}

TEST_F(AgentTest, ASuccessorRepeatsTheBatchUnderWay) {
  keeps_ = false;
  must_start();
  ScriptedPool pool;
  {
    SocketClient program(options_.listener.path);
    ASSERT_EQ(offer(program, pool), Verdict::kTaken);
    pool.claim(0);
    pool.put(0, make_record(1));
    ASSERT_TRUE(until([&] { return outbox_.waiting.size() == 1; }));
  }
  outbox_.store(outbox_.waiting[0].batch);  // the collector has it, and its answer is lost
  auto identity = outbox_.waiting[0].batch.identity;
  agent_.reset();
  outbox_.waiting.clear();
  pool.put(0, make_record(2));
  must_start();
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  ASSERT_TRUE(until([&] { return outbox_.waiting.size() == 1; }));
  EXPECT_EQ(outbox_.waiting[0].batch.identity, identity);
  EXPECT_EQ(FakeOutbox::numbers_in(outbox_.waiting[0].batch), std::vector<uint64_t>{1});
  keeps_ = true;
  ASSERT_TRUE(until([&] { return outbox_.stored.contains(2); }));
  EXPECT_EQ(outbox_.repeated, 1);
  EXPECT_EQ(outbox_.stored, (Stored{{1, 1}, {2, 1}}));
}

TEST_F(AgentTest, IdentitiesDependOnNodeAndPoolAndSequence) {
  ScriptedPool pool;
  ScriptedPool other;
  AgentLosses losses;
  PoolReader one(*PoolFile::open(pool.descriptor(), 0), 1, losses);
  PoolReader two(*PoolFile::open(other.descriptor(), 0), 1, losses);
  DrainOptions here = options_.drain;
  DrainOptions elsewhere = here;
  elsewhere.node_id[0] = 1;
  DrainOptions rebooted = here;
  rebooted.boot_id[0] = 1;
  std::set<std::array<uint8_t, 16>> all{batch_identity(here, one), batch_identity(here, two),
                                        batch_identity(elsewhere, one), batch_identity(rebooted, one)};
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(batch_identity(here, one), batch_identity(here, one));
}

TEST_F(AgentTest, StoppingReadsWhatIsThereAndWaitsForIt) {
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  pool.claim(0);
  for (uint64_t i = 0; i < 50; ++i) pool.put(0, make_record(i));
  EXPECT_TRUE(stop());
  EXPECT_EQ(outbox_.stored.size(), 50u);
  EXPECT_EQ(pool.entry(0).acknowledged.load(), pool.entry(0).reserved.load());
  EXPECT_FALSE(std::filesystem::exists(options_.listener.path));
}

TEST_F(AgentTest, StoppingWithoutACollectorEndsWithItsGrace) {
  keeps_ = false;
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  pool.claim(0);
  pool.put(0, make_record(1));
  ASSERT_TRUE(until([&] { return outbox_.waiting.size() == 1; }));
  bool stopped = false;
  agent_->stop(20 * kMilli, [&] { stopped = true; });
  EXPECT_TRUE(until([&] { return stopped; }));
  EXPECT_NE(pool.header().batch_sequence.load(), pool.header().acknowledged_sequence.load());
}

TEST_F(AgentTest, AProgramThatNeverPausesDoesNotKeepItFromStopping) {
  options_.drain.batch_bytes = 1000;  // so that every batch of two chunks is full
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  for (uint32_t chunk = 0; chunk < 2; ++chunk) pool.claim(chunk);
  uint64_t number = 0;
  auto write_on = [&] {
    for (uint32_t chunk = 0; chunk < 2; ++chunk) {
      if (pool.state(chunk) == pool::kFree) pool.claim(chunk);
      for (int i = 0; i < 10; ++i) {
        if (!pool.put(chunk, make_record(number++))) pool.seal(chunk);
      }
    }
  };
  bool stopped = false;
  agent_->stop(20 * kMilli, [&] { stopped = true; });
  ASSERT_TRUE(until([&] {
    write_on();
    return stopped;
  }));
  outbox_.keep_all();  // as the uplink does in its own grace
  loop_.restart();
  for (int i = 0; i < 20; ++i) {
    write_on();
    loop_.poll();
    ASSERT_TRUE(outbox_.waiting.empty()) << "collected after the end";
    outbox_.keep_all();
  }
}

TEST_F(AgentTest, AThreadThatStoppedInAWriteCostsLessAndLess) {
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  pool.claim(0);
  std::string record = make_record(1);
  uint32_t at = pool.reserve(0, record.size());
  pass_ticks(20);
  EXPECT_TRUE(outbox_.stored.empty());
  pool.commit(0, at, record);
  EXPECT_TRUE(until([&] { return outbox_.stored.size() == 1; }));
}

}  // namespace
}  // namespace fathom::agent
