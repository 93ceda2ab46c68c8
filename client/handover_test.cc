// Programs and agents: how a pool comes to its reader, whatever happens to either.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/testing/repetitions.h"
#include "client/testing/child_program.h"
#include "client/testing/fake_agent.h"
#include "client/testing/outside.h"
#include "client/testing/pool_reader.h"

namespace fathom::client {
namespace {

using testing::ChildProgram;
using testing::FakeAgent;
using testing::kAgentTimeoutMs;
using testing::kNodeId;
using testing::Offered;
using testing::PoolReader;
using testing::ReadSpan;
using testing::Writer;

class Handover : public ::testing::Test {
 protected:
  std::unique_ptr<ChildProgram> start(const std::string& mode, const std::string& argument = "",
                                      std::vector<std::string> environment = {}) {
    environment.push_back("FATHOM_AGENT_SOCKET=" + agent_.path());
    return std::make_unique<ChildProgram>(std::vector<std::string>{FATHOM_PROGRAMS "/client_victim", mode, argument},
                                          environment);
  }
  Offered next_offer() {
    auto offered = agent_.accept(kAgentTimeoutMs);
    EXPECT_TRUE(offered.has_value());
    return offered ? std::move(*offered) : Offered{};
  }
  // Of the two offers, the one that is made at once ends, and the helper's stays. Where several threads begin together,
  // either may come first: a thread that finds the pool starts the helper while its maker still connects.
  Offered lasting_offer() {
    Offered one = next_offer();
    Offered other = next_offer();
    Offered lasting = one_ends_first(one, other) ? std::move(other) : std::move(one);
    EXPECT_TRUE(lasting.answer(pool::Verdict::kTaken, kNodeId));
    return lasting;
  }
  static bool one_ends_first(const Offered& one, const Offered& other) {
    for (int waited_ms = 0; waited_ms < kAgentTimeoutMs; waited_ms++) {
      if (one.wait_for_end(0)) return true;
      if (other.wait_for_end(1)) return false;
    }
    ADD_FAILURE() << "neither offer ended";
    return true;
  }

  FakeAgent agent_;
};

std::vector<ReadSpan> read_file(const Offered& offered, Writer writer = Writer::kAlive) {
  PoolReader reader = PoolReader::of_file(offered.pool.get());
  std::vector<ReadSpan> spans = reader.take(writer);
  EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
  return spans;
}

TEST_F(Handover, AnOfferIsASealedPool) {
  auto program = start("obey");
  const Offered offered = lasting_offer();
  EXPECT_EQ(offered.offer.magic, pool::kSocketMagic);
  EXPECT_EQ(offered.offer.version, pool::kSocketVersion);
  struct stat file = {};
  ASSERT_EQ(fstat(offered.pool.get(), &file), 0);
  EXPECT_EQ(offered.offer.pool_bytes, static_cast<uint64_t>(file.st_size));
  EXPECT_EQ(fcntl(offered.pool.get(), F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
            F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  EXPECT_NE(ftruncate(offered.pool.get(), 4096), 0);
  PoolReader reader = PoolReader::of_file(offered.pool.get());
  EXPECT_EQ(reader.header().pid, static_cast<uint32_t>(program->pid()));
  EXPECT_EQ(reader.header().chunk_count, pool::kDefaultChunks);
  EXPECT_EQ(program->line(), "ready");
  program->say("10");
  EXPECT_EQ(program->line(), "lost 0");
  EXPECT_EQ(reader.take().size(), 11U);
}

TEST_F(Handover, AProgramThatIsGoneAtOnceHasHandedOverAlready) {
  EXPECT_EQ(start("brief")->wait(), 0);
  EXPECT_EQ(read_file(next_offer()).size(), 1U);
}

TEST_F(Handover, AThreadThatIsCancelledMakesItsSpanAllTheSame) {
  auto program = start("cancelled");
  const Offered offered = next_offer();
  EXPECT_EQ(program->line(), "cancelled");
  EXPECT_EQ(read_file(offered).size(), 1U);
}

TEST_F(Handover, SpansInExitHandlersAndStaticDestructors) {
  EXPECT_EQ(start("late-spans")->wait(), 0);
  EXPECT_EQ(read_file(next_offer()).size(), 3U);
}

TEST_F(Handover, ANewAgentGetsTheSamePool) {
  auto program = start("obey");
  const uint64_t inode = lasting_offer().inode;  // the connection ends here
  for (int i = 0; i < 3; i++) {
    agent_.close();
    agent_.listen();
    const Offered offered = next_offer();
    EXPECT_EQ(offered.inode, inode);
    EXPECT_TRUE(offered.answer(pool::Verdict::kTaken, kNodeId));
  }
  program->say("5");
  EXPECT_EQ(program->line(), "ready");
  EXPECT_EQ(program->line(), "lost 0");
}

TEST_F(Handover, AnAgentThatComesLaterGetsThePoolToo) {
  agent_.close();
  auto program = start("obey");
  EXPECT_EQ(program->line(), "ready");
  agent_.listen();
  EXPECT_EQ(read_file(next_offer()).size(), 1U);
}

TEST_F(Handover, ARefusedProgramGoesOnAndComesAgain) {
  auto program = start("obey");
  next_offer();
  EXPECT_TRUE(next_offer().answer(pool::Verdict::kTooMany, kNodeId));
  program->say("100");
  EXPECT_EQ(program->line(), "ready");
  EXPECT_EQ(program->line(), "lost 0");
  EXPECT_EQ(read_file(next_offer()).size(), 101U);
}

TEST_F(Handover, TheNodeIsNamedInTracestate) {
  auto program = start("breadcrumb", "a=1,fathom=00,b=2");
  const Offered offered = lasting_offer();
  EXPECT_EQ(program->line(), "fathom=30313233343536373839616263646566,a=1,b=2");
}

TEST_F(Handover, AConnectionEndsWithItsProgramAndNotWithItsChildren) {
  auto program = start("leave-child");
  const Offered offered = lasting_offer();
  EXPECT_EQ(program->line(), "ready");
  EXPECT_FALSE(offered.wait_for_end(0));
  program->say("die");
  EXPECT_EQ(program->wait(), 0);
  EXPECT_TRUE(offered.wait_for_end(kAgentTimeoutMs));
}

TEST_F(Handover, AProgramMayCloseAllItsFiles) {
  auto program = start("close-files");
  Offered offered = lasting_offer();
  EXPECT_EQ(program->line(), "ready");
  program->say("close");
  EXPECT_EQ(program->line(), "closed");
  EXPECT_FALSE(offered.wait_for_end(0));
  const uint64_t inode = offered.inode;
  offered = Offered{};
  offered = next_offer();
  EXPECT_EQ(offered.inode, inode) << "the agent is another one, the pool the same";
  EXPECT_EQ(read_file(offered).size(), 2U);
  program->say("end");
  EXPECT_EQ(program->wait(), 0);
}

TEST_F(Handover, WithoutFilesSpansAreLostAndCountedAndLaterNotLost) {
  auto program = start("without-files");
  EXPECT_EQ(program->line(), "lost 10");
  EXPECT_EQ(program->line(), "found");
  const Offered offered = next_offer();
  PoolReader reader = PoolReader::of_file(offered.pool.get());
  EXPECT_GE(reader.lost(pool::kLostNotReady), 10U) << "counted before there was a place to count";
  EXPECT_EQ(reader.take().size(), 1U);
}

TEST_F(Handover, WithoutMemoryFilesTheProgramGoesOn) {
  auto program = start("without-memfd");
  EXPECT_EQ(program->line(), "lost 10");
  EXPECT_EQ(program->wait(), 0);
}

TEST_F(Handover, AReplacedProgramBeginsAnew) {
  auto program = start("replace", "brief");
  const Offered before = lasting_offer();
  EXPECT_EQ(program->line(), "ready");
  program->say("go");
  EXPECT_EQ(program->wait(), 0);
  EXPECT_TRUE(before.wait_for_end(kAgentTimeoutMs));
  const Offered after = next_offer();
  EXPECT_NE(before.inode, after.inode);
  EXPECT_EQ(read_file(before).size(), 1U);
  EXPECT_EQ(read_file(after).size(), 1U);
}

TEST_F(Handover, TheResourceIsWhatTheProgramAndItsEnvironmentSay) {
  for (const char* mode : {"name-itself", "name-itself-late"}) {
    auto program = start(mode, "a=program,b=program,service.name=program",
                         {"OTEL_RESOURCE_ATTRIBUTES=a=environment,c=environment%20too,service.name=environment"});
    EXPECT_EQ(program->line(), "ready");
    const Offered offered = lasting_offer();
    auto resource = PoolReader::of_file(offered.pool.get()).resource();
    EXPECT_EQ(resource["a"] + resource["b"] + resource["c"] + resource["service.name"],
              "programprogramenvironment tooprogram");
    EXPECT_EQ(resource["process.pid"], std::to_string(program->pid()));
    EXPECT_EQ(resource["process.executable.name"], "client_victim");
    auto published = testing::find_process_context(program->pid());
    ASSERT_TRUE(published.found);
    EXPECT_EQ(published.resource, resource);
  }
}

TEST_F(Handover, TheServicesNameOfTheEnvironmentComesFirst) {
  auto program = start("name-itself", "service.name=program", {"OTEL_SERVICE_NAME=shop"});
  EXPECT_EQ(PoolReader::of_file(next_offer().pool.get()).resource()["service.name"], "shop");
}

TEST_F(Handover, AttributesThatDoNotFitTheResourceAreCounted) {
  const std::string large(20'000, 'v');
  auto program = start("name-itself", "a=" + large + ",b=1", {"OTEL_RESOURCE_ATTRIBUTES=c=" + large + ",d=2"});
  EXPECT_EQ(program->line(), "ready");
  const Offered offered = lasting_offer();
  PoolReader reader = PoolReader::of_file(offered.pool.get());
  EXPECT_EQ(reader.resource()["b"] + reader.resource()["d"], "12");
  EXPECT_EQ(reader.lost(pool::kLostAttributes), 2U);
}

TEST_F(Handover, TheEnvironmentChoosesClockAndSize) {
  auto program = start("brief", "", {"FATHOM_CLOCK=monotonic", "FATHOM_POOL_MIB=1"});
  const Offered offered = next_offer();
  PoolReader reader = PoolReader::of_file(offered.pool.get());
  EXPECT_EQ(reader.header().clock, pool::Clock::kMonotonic);
  EXPECT_EQ(reader.header().chunk_count, 64U);
}

size_t threads_of(const ChildProgram& program) {
  const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(program.pid()) + "/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_F(Handover, WithoutASocketToLookForThereIsNoHelper) {
  for (const std::string& socket : {std::string(), "@" + std::string(107, 'x')}) {
    auto program = start("obey", "", {"FATHOM_AGENT_SOCKET=" + socket});
    EXPECT_EQ(program->line(), "ready");
    EXPECT_EQ(threads_of(*program), 1U);
    EXPECT_FALSE(testing::find_process_context(program->pid()).found);
  }
  EXPECT_FALSE(agent_.accept(0).has_value());
  auto program = start("obey", "", {"FATHOM_AGENT_SOCKET=@" + std::string(106, 'x')});
  EXPECT_EQ(program->line(), "ready");
  EXPECT_GE(threads_of(*program), 2U);  // ThreadSanitizer starts one of its own beside a program's first
}

TEST_F(Handover, FlushWaitsForTheReader) {
  auto program = start("flush");
  const Offered offered = lasting_offer();
  PoolReader reader = PoolReader::of_file(offered.pool.get());
  size_t taken = 0;
  while (taken < 100) taken += reader.take().size();
  EXPECT_EQ(program->line(), "0");
}

TEST_F(Handover, ThreadsThatBlockAllSignalsAreServedToo) {
  auto program = start("blocked-signals");
  const Offered offered = lasting_offer();
  EXPECT_EQ(program->line(), "ready");
}

TEST_F(Handover, AFirstSpanInAHandlerStartsNoThreadButALaterOneDoes) {
  auto program = start("in-handler");
  next_offer();
  EXPECT_EQ(program->line(), "ready");
  EXPECT_FALSE(agent_.accept(300).has_value()) << "no thread may be started in a handler";
  program->say("go on");
  EXPECT_EQ(program->line(), "more");
  const Offered offered = next_offer();
  EXPECT_EQ(read_file(offered).size(), 400U);
}

// Memory that the test and its victims share: how far each of their threads is.
class Progress {
 public:
  Progress() : fd_(memfd_create("progress", 0)) {
    if (ftruncate(fd_.get(), 4096) != 0) std::abort();
    words_ = static_cast<std::atomic<uint64_t>*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
  }
  ~Progress() { munmap(words_, 4096); }
  std::string path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_.get()); }
  uint64_t finished(int thread) const { return words_[thread * 8].load(std::memory_order_acquire); }
  void allow(int thread, uint64_t number) { words_[64 + thread * 8].store(number, std::memory_order_release); }

 private:
  testing::OwnedFd fd_;
  std::atomic<uint64_t>* words_;
};

struct Numbers {
  std::set<uint64_t> seen[2];
  void enter(const std::vector<ReadSpan>& spans) {
    for (const ReadSpan& span : spans) {
      const uint64_t number = std::stoull(span.attribute("number"));
      EXPECT_EQ(span.attribute("text"), std::string(number % 100, 'x'));
      EXPECT_TRUE(seen[std::stoi(span.attribute("thread"))].insert(number).second) << "twice";
    }
  }
};

TEST_F(Handover, WhateverWasFinishedBeforeAKillIsInThePool) {
  for (uint64_t round = 0; round < repetitions(12); round++) {
    Progress progress;
    auto program = start("forever", progress.path());
    const Offered offered = lasting_offer();
    PoolReader reader = PoolReader::of_file(offered.pool.get());
    Numbers numbers;
    const uint64_t enough = 500 + round * 700;
    while (numbers.seen[0].size() + numbers.seen[1].size() < enough) {
      numbers.enter(reader.take());
      for (int t = 0; t < 2; t++) progress.allow(t, numbers.seen[t].size());
    }
    program->kill();
    numbers.enter(reader.take(Writer::kDead));
    EXPECT_EQ(reader.lost(pool::kLostPoolFull), 0U);
    for (int t = 0; t < 2; t++) {
      const std::set<uint64_t>& seen = numbers.seen[t];
      EXPECT_GE(seen.size(), progress.finished(t)) << "finished, and not in the pool";
      EXPECT_LE(seen.size(), progress.finished(t) + 1);
      EXPECT_TRUE(seen.empty() || *seen.rbegin() == seen.size() - 1) << "a number is missing";
    }
    EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
  }
}

}  // namespace
}  // namespace fathom::client
