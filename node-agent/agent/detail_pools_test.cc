#include "node-agent/agent/detail_pools.h"

#include <gtest/gtest.h>

#include "node-agent/detail/event_decoder.h"
#include "node-agent/testing/agent_fixture.h"

namespace fathom::agent {
namespace {

using pool::Verdict;
using testing::kMilli;
using testing::make_record;
using testing::ScriptedDetail;
using testing::ScriptedPool;
using testing::Sleeper;
using testing::SocketClient;

class DetailPoolsTest : public testing::AgentTest {
 protected:
  DetailPoolsTest() {
    options_.detail_times = {.keep_nano = 3600 * kNanosPerSecond, .grace_nano = 20 * kMilli, .look_nano = 2 * kMilli};
    same_process(pool_, detail_);
    pool_.set_resource({{"service.name", "shop"}});
  }
  static void same_process(ScriptedPool& pool, ScriptedDetail& detail) {
    std::memcpy(detail.header().process_id, pool.header().process_id, sizeof detail.header().process_id);
  }
  // As after a restart, with both pools of a process.
  void must_inherit_both(pid_t pid) {
    std::vector<InheritedFd> all;
    all.push_back(kept(pool_, pid));
    all.push_back(kept_detail(pid));
    must_start(std::move(all));
  }
  InheritedFd kept_detail(pid_t pid, uid_t uid = ::getuid()) {
    Result<DetailFile> file = DetailFile::open(detail_.descriptor(), 0);
    ProgramId id{
        .uid = uid, .process = identify_process(pid), .key = {file->memory().device(), file->memory().inode()}};
    return {id.store_name(ProgramId::kDetail), detail_.descriptor()};
  }
  void write_event(const std::string& word) {
    detail_.describe(16, "cache.miss", {{pool::FieldType::kString, "key"}});
    detail_.claim(0, 100);
    detail_.put(0, testing::detail_record(16, 120, testing::sized(word)));
  }
  std::vector<std::string> events() {
    std::vector<std::string> texts;
    for (const ProgramDetail& program : agent_->details()) {
      DetailSnapshot snapshot = program.pool->snapshot({}, 1 << 20);
      decode(snapshot, [&](const EventView& event) { texts.push_back(to_text(event)); });
    }
    return texts;
  }
  uint64_t lost(const std::string& reason) const {
    for (const auto& [name, count] : agent_->losses()) {
      if (name == reason) return count;
    }
    return 0;
  }

  ScriptedPool pool_;
  ScriptedDetail detail_;
};

TEST_F(DetailPoolsTest, ADetailPoolComesOverTheSpanPoolsConnection) {
  must_start();
  write_event("user:7");
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool_), Verdict::kTaken);
  EXPECT_TRUE((abilities_ & pool::kTakesDetail) != 0);
  ASSERT_EQ(offer_detail(program, detail_), Verdict::kTaken);
  ASSERT_TRUE(until([&] { return agent_->details().at(0).service == "shop"; }));
  ProgramDetail here = agent_->details().at(0);
  EXPECT_EQ(here.process.pid, ::getpid());
  EXPECT_FALSE(here.ended);
  ASSERT_EQ(here.pool->tracepoints().all().size(), 1u);
  EXPECT_EQ(here.pool->tracepoints().all()[0].name, "cache.miss");
  EXPECT_EQ(events(), std::vector<std::string>{"cache.miss key=\"user:7\""});
  pass_ticks(30);  // longer than all graces
  EXPECT_EQ(agent_->details().size(), 1u);
}

TEST_F(DetailPoolsTest, OneThatIsOfferedAloneIsTaken) {
  must_start();
  {
    SocketClient program(options_.listener.path);
    ASSERT_EQ(offer_detail(program, detail_), Verdict::kTaken);
  }
  pass_ticks(30);
  EXPECT_EQ(agent_->details().size(), 1u) << "its process lives";
  SocketClient again(options_.listener.path);
  ASSERT_EQ(offer_detail(again, detail_), Verdict::kTaken);
  EXPECT_EQ(agent_->details().size(), 1u);
}

TEST_F(DetailPoolsTest, ARefusedOneIsNotTheSpansEnd) {
  must_start();
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool_), Verdict::kTaken);
  detail_.header().version = 2;
  EXPECT_EQ(offer_detail(program, detail_), Verdict::kVersion);
  EXPECT_FALSE(program.ended());
  pool_.claim(0);
  pool_.put(0, make_record(1));
  EXPECT_TRUE(until([&] { return outbox_.stored.size() == 1; }));
  EXPECT_EQ(offer_detail(program, detail_), Verdict{99}) << "at once again, and again: that is no program of ours";
  EXPECT_TRUE(program.ended());
}

TEST_F(DetailPoolsTest, WhatIsNoDetailPoolIsRefused) {
  must_start();
  auto refused = [&](const std::function<void(SocketClient&)>& say) {
    SocketClient program(options_.listener.path);
    say(program);
    return verdict(program);
  };
  EXPECT_EQ(refused([&](SocketClient& program) {
              program.offer(pool_.bytes(), pool_.descriptor().get(), pool::kDetailOfferMagic);
            }),
            Verdict::kInvalid)
      << "a span pool";
  EXPECT_EQ(refused([&](SocketClient& program) { program.offer(detail_.bytes(), detail_.descriptor().get()); }),
            Verdict::kInvalid)
      << "a detail pool for a span pool";
  EXPECT_EQ(refused([&](SocketClient& program) {
              program.offer(detail_.bytes() + 1, detail_.descriptor().get(), pool::kDetailOfferMagic);
            }),
            Verdict::kInvalid)
      << "of another size";
  ScriptedDetail unsealed({.seals = 0});
  EXPECT_EQ(refused([&](SocketClient& program) {
              program.offer(unsealed.bytes(), unsealed.descriptor().get(), pool::kDetailOfferMagic);
            }),
            Verdict::kInvalid);
  EXPECT_EQ(agent_->details().size(), 0u);
}

TEST_F(DetailPoolsTest, ASecondOneOnTheSameConnectionEndsIt) {
  must_start();
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool_), Verdict::kTaken);
  ASSERT_EQ(offer_detail(program, detail_), Verdict::kTaken);
  ScriptedDetail other;
  EXPECT_EQ(offer_detail(program, other), Verdict{99});
  EXPECT_EQ(agent_->details().size(), 1u);
}

TEST_F(DetailPoolsTest, WhatADeadProgramLeavesIsKeptForAWhile) {
  options_.detail_times.keep_nano = 400 * kMilli;
  Sleeper process;
  write_event("last words");
  must_inherit_both(process.pid());
  ASSERT_TRUE(until([&] { return agent_->details().at(0).service == "shop"; }));
  process.kill();
  ASSERT_TRUE(until([&] { return agent_->programs() == 0; })) << "its spans are read";
  ASSERT_EQ(agent_->details().size(), 1u);
  EXPECT_TRUE(agent_->details()[0].ended);
  EXPECT_EQ(agent_->details()[0].service, "shop");
  EXPECT_EQ(events(), std::vector<std::string>{"cache.miss key=\"last words\""});
  EXPECT_TRUE(until([&] { return agent_->details().empty(); }));
}

TEST_F(DetailPoolsTest, ASupervisorKeepsItForASuccessor) {
  supervised_ = true;
  must_start();
  std::string name = kept_detail(::getpid()).name;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool_), Verdict::kTaken);
  ASSERT_EQ(offer_detail(program, detail_), Verdict::kTaken);
  EXPECT_TRUE(until([&] { return was_told("FDSTORE=1\nFDPOLL=0\nFDNAME=" + name); }));
  agent_.reset();
  write_event("between two agents");
  supervised_ = false;
  must_inherit_both(::getpid());
  EXPECT_EQ(events(), std::vector<std::string>{"cache.miss key=\"between two agents\""});
}

TEST_F(DetailPoolsTest, WhatWasStoredUnderAWrongNameIsDropped) {
  supervised_ = true;
  InheritedFd wrong = kept_detail(::getpid());
  wrong.name.back() = wrong.name.back() == '1' ? '2' : '1';
  std::string name = wrong.name;
  std::vector<InheritedFd> all;
  all.push_back(std::move(wrong));
  must_start(std::move(all));
  EXPECT_TRUE(agent_->details().empty());
  EXPECT_TRUE(until([&] { return was_told("FDSTOREREMOVE=1\nFDNAME=" + name); }));
}

TEST_F(DetailPoolsTest, LossesAreCountedOnceByWhomever) {
  detail_.header().losses[pool::kLostNoChunk].store(17);
  must_start();
  uint64_t before = lost("event_no_chunk");
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer_detail(program, detail_), Verdict::kTaken);
  ASSERT_TRUE(until([&] { return lost("event_no_chunk") == before + 17; }));
  std::function<void()> told = agent_->losses_told();
  detail_.header().losses[pool::kLostNoChunk].store(20);
  ASSERT_TRUE(until([&] { return lost("event_no_chunk") == before + 20; }));
  told();
  agent_.reset();
  must_inherit_both(::getpid());
  EXPECT_TRUE(until([&] { return lost("event_no_chunk") == before + 23; })) << "the 3 that no collector has heard of";
  pass_ticks(10);
  EXPECT_EQ(lost("event_no_chunk"), before + 23);
}

TEST_F(DetailPoolsTest, ALivingProgramsPoolComesBeforeADeadOnes) {
  options_.detail_limits.most_pools_per_user = 1;
  Sleeper process;
  std::vector<InheritedFd> all;
  all.push_back(kept_detail(process.pid()));
  must_start(std::move(all));
  ScriptedDetail living;
  {
    SocketClient program(options_.listener.path);
    EXPECT_EQ(offer_detail(program, living), Verdict::kTooMany) << "both live";
  }
  process.kill();
  ASSERT_TRUE(until([&] { return agent_->details().at(0).ended; }));
  uint64_t before = lost("detail_ended_program");
  SocketClient program(options_.listener.path);
  EXPECT_EQ(offer_detail(program, living), Verdict::kTaken);
  EXPECT_EQ(agent_->details().size(), 1u);
  EXPECT_FALSE(agent_->details()[0].ended);
  EXPECT_EQ(lost("detail_ended_program"), before + 1);
}

TEST_F(DetailPoolsTest, MemoryOfTheDeadIsLimited) {
  options_.detail_limits.most_bytes_of_ended = 0;
  Sleeper process;
  std::vector<InheritedFd> all;
  all.push_back(kept_detail(process.pid()));
  must_start(std::move(all));
  pass_ticks(10);
  EXPECT_EQ(agent_->details().size(), 1u);
  process.kill();
  EXPECT_TRUE(until([&] { return agent_->details().empty(); }));
}

}  // namespace
}  // namespace fathom::agent
