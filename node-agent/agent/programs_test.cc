#include "node-agent/agent/programs.h"

#include <gtest/gtest.h>

#include "node-agent/testing/agent_fixture.h"

namespace fathom::agent {
namespace {

using pool::Verdict;
using testing::kMilli;
using testing::make_record;
using testing::ScriptedPool;
using testing::Sleeper;
using testing::SocketClient;
using testing::Stored;

class ProgramsTest : public testing::AgentTest {
 protected:
  // As the agent reports it.
  uint64_t pool_full() const {
    for (const auto& [reason, count] : agent_->losses()) {
      if (reason == "pool_full") return count;
    }
    return 0;
  }
};

// A program that the agent has from its predecessor, and that lost what nobody was told of.
class UntoldLossesTest : public ProgramsTest {
 protected:
  UntoldLossesTest() {
    options_.times.untold_nano = 3600 * kNanosPerSecond;
    pool_.header().losses[pool::kLostPoolFull].store(17);
  }
  void inherit() { must_inherit(pool_, process_.pid()); }
  bool is_let_go() {
    return until([&] { return agent_->programs() == 0; });
  }

  Sleeper process_;
  ScriptedPool pool_;
};

TEST_F(ProgramsTest, AProgramThatLivesAndMapsItsPoolIsNotOver) {
  must_start();
  ScriptedPool pool;
  {
    SocketClient program(options_.listener.path);
    ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  }
  pool.claim(0);
  std::string record = make_record(0);
  uint32_t at = pool.reserve(0, record.size());
  pool.put(0, make_record(1));
  pass_ticks(30);  // longer than its grace
  EXPECT_EQ(agent_->programs(), 1u);
  EXPECT_TRUE(outbox_.stored.empty()) << "the gap may still be filled";
  pool.commit(0, at, record);
  EXPECT_TRUE(until([&] { return outbox_.stored.size() == 2; }));
}

TEST_F(ProgramsTest, APoolOfAProcessThatIsGoneIsReadAndLetGo) {
  ScriptedPool pool;
  Sleeper process;
  InheritedFd inherited = kept(pool, process.pid());
  pool.claim(0);
  pool.reserve(0, make_record(0).size());
  pool.put(0, make_record(1));
  std::vector<InheritedFd> all;
  all.push_back(std::move(inherited));
  must_start(std::move(all));
  pass_ticks(10);
  EXPECT_EQ(agent_->programs(), 1u) << "its process lives";
  process.kill();
  ASSERT_TRUE(until([&] { return agent_->programs() == 0; }));
  EXPECT_EQ(outbox_.stored, (Stored{{1, 1}}));
}

TEST_F(ProgramsTest, AProgramThatExecutedAnotherIsOver) {
  ScriptedPool pool;
  int status_pipe[2];  // whose end says that the child executes something else
  ASSERT_EQ(::pipe2(status_pipe, O_CLOEXEC), 0);
  pid_t child = ::fork();
  if (child == 0) {
    ::execlp("sleep", "sleep", "1000", nullptr);
    std::_Exit(1);
  }
  ::close(status_pipe[1]);
  char byte;
  ASSERT_EQ(::read(status_pipe[0], &byte, 1), 0);
  ::close(status_pipe[0]);
  pool.claim(0);
  pool.put(0, make_record(1));
  std::vector<InheritedFd> all;
  all.push_back(kept(pool, child));
  must_start(std::move(all));
  EXPECT_TRUE(until([&] { return agent_->programs() == 0; }));
  EXPECT_EQ(outbox_.stored, (Stored{{1, 1}}));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(ProgramsTest, APoolThatIsOfferedAgainIsTheSame) {
  must_start();
  ScriptedPool pool;
  {
    SocketClient first(options_.listener.path);
    ASSERT_EQ(offer(first, pool), Verdict::kTaken);
    SocketClient second(options_.listener.path);
    ASSERT_EQ(offer(second, pool), Verdict::kTaken);
    EXPECT_EQ(agent_->programs(), 1u);
  }
  SocketClient third(options_.listener.path);
  ASSERT_EQ(offer(third, pool), Verdict::kTaken);
  EXPECT_EQ(agent_->programs(), 1u);
  pool.claim(0);
  pool.put(0, make_record(1));
  EXPECT_TRUE(until([&] { return outbox_.stored.size() == 1; }));
}

TEST_F(ProgramsTest, ProgramsAreAskedForTheirActiveSpanWhileItIsRecorded) {
  options_.marks_spans = true;
  must_start();
  ScriptedPool pool;
  pool.header().span_marks.store(pool::kProgramWantsMarks);
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  EXPECT_EQ(pool.header().span_marks.load(), pool::kReaderWantsMarks | pool::kProgramWantsMarks);
  agent_.reset();
  EXPECT_EQ(pool.header().span_marks.load(), uint32_t{pool::kProgramWantsMarks});
}

TEST_F(ProgramsTest, WhatAnAgentThatWasKilledAskedForIsTakenBack) {
  must_start();
  ScriptedPool pool;
  pool.header().span_marks.store(pool::kReaderWantsMarks);
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  EXPECT_EQ(pool.header().span_marks.load(), 0u);
}

TEST_F(ProgramsTest, LimitsOfAUserAreKept) {
  options_.limits.most_pools_per_user = 2;
  must_start();
  ScriptedPool pools[3];
  std::vector<std::unique_ptr<SocketClient>> programs;
  std::vector<Verdict> verdicts;
  for (ScriptedPool& pool : pools) {
    programs.push_back(std::make_unique<SocketClient>(options_.listener.path));
    verdicts.push_back(offer(*programs.back(), pool));
  }
  EXPECT_EQ(verdicts, (std::vector<Verdict>{Verdict::kTaken, Verdict::kTaken, Verdict::kTooMany}));
}

TEST_F(ProgramsTest, LimitsOfMemoryAreKept) {
  options_.limits.most_chunks_per_user = 20;
  must_start();
  ScriptedPool small(8);
  ScriptedPool large(16);
  SocketClient one(options_.listener.path);
  SocketClient two(options_.listener.path);
  EXPECT_EQ(offer(one, small), Verdict::kTaken);
  EXPECT_EQ(offer(two, large), Verdict::kTooMany);
}

TEST_F(ProgramsTest, APoolThatAnotherAgentReadsIsLetGo) {
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  pool.header().reader.store(12345);
  uint64_t before = AgentLosses().taken_over_pools.value();
  EXPECT_TRUE(until([&] { return agent_->programs() == 0; }));
  EXPECT_EQ(pool.header().reader.load(), 12345u);
  EXPECT_EQ(AgentLosses().taken_over_pools.value() - before, 1u);
}

TEST_F(ProgramsTest, NobodysMemoryStaysWithTheSupervisor) {
  supervised_ = true;
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  InheritedFd stored = kept(pool, ::getpid());
  EXPECT_TRUE(was_told("FDSTORE=1\nFDPOLL=0\nFDNAME=" + stored.name + "\n"));
  pool.header().reader.store(1);  // the program's own doing
  EXPECT_TRUE(until([&] { return was_told("FDSTOREREMOVE=1\nFDNAME=" + stored.name + "\n"); }));
}

TEST_F(ProgramsTest, WhatWasKeptFromBeforeIsLimitedToo) {
  supervised_ = true;
  options_.limits.most_pools_per_user = 1;
  uint64_t before = AgentLosses().no_room_pools.value();
  ScriptedPool pools[2];
  std::vector<InheritedFd> all;
  for (ScriptedPool& pool : pools) all.push_back(kept(pool, ::getpid()));
  std::string refused = all[1].name;
  must_start(std::move(all));
  EXPECT_EQ(agent_->programs(), 1u);
  EXPECT_EQ(AgentLosses().no_room_pools.value() - before, 1u);
  EXPECT_TRUE(was_told("FDSTOREREMOVE=1\nFDNAME=" + refused + "\n"));
}

TEST_F(ProgramsTest, AProgramWhosePoolIsLetGoIsToldAndComesBack) {
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  pool.header().reader.store(12345);
  EXPECT_TRUE(until([&] { return program.ended(); })) << "or it would never offer its pool again";
  SocketClient again(options_.listener.path);
  ASSERT_EQ(offer(again, pool), Verdict::kTaken);
  EXPECT_NE(pool.header().reader.load(), 12345u);
  pool.claim(0);
  pool.put(0, make_record(1));
  EXPECT_TRUE(until([&] { return outbox_.stored.size() == 1; }));
}

TEST_F(ProgramsTest, APoolThatIsNoneIsRefused) {
  must_start();
  ScriptedPool pool;
  pool.header().magic = 0;
  SocketClient program(options_.listener.path);
  EXPECT_EQ(offer(program, pool), Verdict::kInvalid);
  ScriptedPool later;
  later.header().version = 99;
  SocketClient another(options_.listener.path);
  EXPECT_EQ(offer(another, later), Verdict::kVersion);
  EXPECT_EQ(agent_->programs(), 0u);
}

TEST(ProgramLimits, TheUsualPoolsOfAUserFitWithAllTheirChunks) {
  ProgramLimits limits;
  EXPECT_GE(limits.most_chunks_per_user, limits.most_pools_per_user * pool::kDefaultChunks);
  EXPECT_GE(limits.most_chunks, 2 * limits.most_chunks_per_user) << "one user alone does not take them all";
}

TEST_F(ProgramsTest, MemoryOfDeadProgramsIsBoundedAndItsLossCounted) {
  options_.limits.most_bytes_of_ended = pool::kChunkBytes;
  outbox_.has_room = false;
  AgentLosses losses;
  uint64_t before = losses.dropped_spans.value();
  ScriptedPool pools[2];
  Sleeper processes[2];
  std::vector<InheritedFd> all;
  for (int i = 0; i < 2; ++i) {
    pools[i].claim(0);
    for (uint64_t n = 0; n < 10; ++n) pools[i].put(0, make_record(n));
    all.push_back(kept(pools[i], processes[i].pid()));
  }
  must_start(std::move(all));
  processes[0].kill();
  pass_ticks(20);
  EXPECT_EQ(agent_->programs(), 2u) << "one of them may be kept";
  processes[1].kill();
  ASSERT_TRUE(until([&] { return agent_->programs() == 1; }));
  EXPECT_EQ(losses.dropped_spans.value() - before, 10u);
  EXPECT_EQ(pools[0].entry(0).acknowledged.load(), pools[0].entry(0).reserved.load()) << "the one gone longest";
}

TEST_F(ProgramsTest, MemoryOfDeadProgramsIsTheUsersWhoHoldsMost) {
  options_.limits.most_bytes_of_ended = 256 << 10;
  outbox_.has_room = false;
  AgentLosses losses;
  uint64_t before = losses.dropped_spans.value();
  ScriptedPool honest;  // gone longest
  ScriptedPool claims(64);
  ScriptedPool fills(64);
  honest.claim(0);
  honest.put(0, make_record(1));
  claims.header().chunks_used.store(64);  // but has no memory for them
  for (uint32_t chunk = 0; chunk < 64; ++chunk) {
    fills.claim(chunk);
    while (fills.put(chunk, make_record(chunk))) {
    }
    fills.seal(chunk);
  }
  Sleeper process;
  std::vector<InheritedFd> all;
  all.push_back(kept(honest, process.pid()));
  all.push_back(kept(claims, process.pid(), 65'000));
  all.push_back(kept(fills, process.pid(), 65'001));
  must_start(std::move(all));
  process.kill();
  ASSERT_TRUE(until([&] { return losses.dropped_spans.value() > before && agent_->programs() == 2; }));
  EXPECT_EQ(fills.state(63), pool::kFree);
  EXPECT_EQ(honest.entry(0).acknowledged.load(), 0u) << "whose memory is small stays";
}

// It is over, and somebody writes on.
TEST_F(ProgramsTest, APoolWithoutEndIsGivenUpAndCounted) {
  ScriptedPool pool(2);
  Sleeper process;
  std::vector<InheritedFd> all;
  all.push_back(kept(pool, process.pid()));
  process.kill();
  uint64_t before = AgentLosses().endless_pools.value();
  auto write_on = [&] {
    for (uint32_t chunk = 0; chunk < 2; ++chunk) {
      if (pool.state(chunk) != pool::kFree) continue;
      pool.claim(chunk);
      while (pool.put(chunk, make_record(1))) {
      }
      pool.seal(chunk);
    }
  };
  write_on();
  must_start(std::move(all));
  ASSERT_TRUE(until([&] {
    write_on();
    return agent_->programs() == 0;
  }));
  EXPECT_EQ(AgentLosses().endless_pools.value() - before, 1u);
}

TEST_F(ProgramsTest, ABatchUnderWayOfAPoolThatCameBackIsKeptOnce) {
  keeps_ = false;
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  pool.claim(0);
  pool.put(0, make_record(1));
  pool.seal(0);
  ASSERT_TRUE(until([&] { return outbox_.waiting.size() == 1; }));
  pool.header().reader.store(12345);
  ASSERT_TRUE(until([&] { return program.ended(); }));
  SocketClient again(options_.listener.path);
  ASSERT_EQ(offer(again, pool), Verdict::kTaken);
  ASSERT_TRUE(until([&] { return outbox_.waiting.size() == 2; }));
  outbox_.keep_one();
  EXPECT_EQ(pool.state(0), pool::kSealed) << "the reader that is gone says nothing";
  keeps_ = true;
  EXPECT_TRUE(until([&] { return pool.state(0) == pool::kFree; }));
  EXPECT_EQ(outbox_.stored, (Stored{{1, 1}}));
}

TEST_F(ProgramsTest, LossesOfProgramsAreItsOwn) {
  must_start();
  uint64_t before = pool_full();
  ScriptedPool pool;
  pool.header().losses[pool::kLostPoolFull].store(17);
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  EXPECT_TRUE(until([&] { return pool_full() == before + 17; }));
}

TEST_F(ProgramsTest, WhatAProgramLostIsMarkedOnceItIsTold) {
  must_start();
  ScriptedPool pool;
  std::atomic<uint64_t>& lost = pool.header().losses[pool::kLostPoolFull];
  std::atomic<uint64_t>& marked = pool.header().counted_losses[pool::kLostPoolFull];
  uint64_t before = pool_full();
  lost.store(17);
  {
    SocketClient program(options_.listener.path);
    ASSERT_EQ(offer(program, pool), Verdict::kTaken);
    ASSERT_TRUE(until([&] { return pool_full() == before + 17; }));
    std::function<void()> told = agent_->losses_told();
    lost.store(20);
    ASSERT_TRUE(until([&] { return pool_full() == before + 20; }));
    EXPECT_EQ(marked.load(), 0u);
    told();
    EXPECT_EQ(marked.load(), 17u) << "no more than the report had";
    told = agent_->losses_told();
    agent_.reset();
    told();
    EXPECT_EQ(marked.load(), 17u) << "the agent that reported is gone";
  }
  must_start();
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  EXPECT_TRUE(until([&] { return pool_full() == before + 23; })) << "the successor counts what was not told";
}

// The pool is what outlives an agent, so it is not let go before the collector knows.
TEST_F(UntoldLossesTest, KeepTheDeadsPoolUntilTheyAreTold) {
  inherit();
  uint64_t before = pool_full();
  ASSERT_TRUE(until([&] { return pool_full() == before + 17; }));
  process_.kill();
  pass_ticks(50);
  EXPECT_EQ(agent_->programs(), 1u);
  agent_->losses_told()();
  EXPECT_EQ(pool_.header().counted_losses[pool::kLostPoolFull].load(), 17u);
  EXPECT_TRUE(is_let_go());
}

TEST_F(UntoldLossesTest, HoldAPoolForAWhileOnly) {
  options_.times.untold_nano = 20 * kMilli;
  inherit();
  process_.kill();
  EXPECT_TRUE(is_let_go());
}

TEST_F(UntoldLossesTest, HoldNoMoreMemoryThanMayBeHeld) {
  options_.limits.most_bytes_of_ended = 0;
  inherit();
  process_.kill();
  EXPECT_TRUE(is_let_go());
}

TEST_F(UntoldLossesTest, OfTheDeadDoNotKeepTheAgentFromStopping) {
  inherit();
  process_.kill();
  pass_ticks(50);
  ASSERT_EQ(agent_->programs(), 1u);
  uint64_t began = now_monotonic_nano();
  EXPECT_TRUE(stop());
  EXPECT_LT(now_monotonic_nano() - began, 5 * kNanosPerSecond) << "half of its grace";
}

TEST(ProgramId, NamesAreShortEnoughForFourThousand) {
  ProgramId id{.uid = 65'534, .process = {4'194'304, 0xffff'ffff}, .key = {1, 0xff'ffff}};  // months of a busy host
  EXPECT_GE(FdStore::kMostNamesBytes / (id.store_name().size() + 1), 3500u);
  id = {.uid = 1000, .process = {99'999, 50'000'000}, .key = {1, 99'999}};
  EXPECT_GE(FdStore::kMostNamesBytes / (id.store_name().size() + 1), 4000u);
}

TEST(ProgramId, NamesAreReadBack) {
  ProgramId id{.uid = 1000, .process = {42, 123456789}, .key = {1, UINT64_MAX}};
  ASSERT_TRUE(is_store_name(id.store_name()));
  std::optional<ProgramId> read = ProgramId::of_store_name(id.store_name());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->uid, 1000u);
  EXPECT_EQ(read->process, id.process);
  EXPECT_EQ(read->key, id.key);
  for (const char* name : {"", "p", "p-1-2-3-4", "p-1-2-3-4-5-6", "p-1-2-3-4-x", "other-1-2-3-4-5",
                           "p-1-2-3-4-99999999999999999999", "p-1-ffffffff-3-4-5"})
    EXPECT_FALSE(ProgramId::of_store_name(name)) << name;
}

}  // namespace
}  // namespace fathom::agent
