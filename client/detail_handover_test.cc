// The detail pool's way to an agent, and the agent's word to tracepoints.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <set>

#include "client/testing/child_program.h"
#include "client/testing/detail_reader.h"
#include "client/testing/fake_agent.h"

namespace fathom::client {
namespace {

using testing::ChildProgram;
using testing::DetailReader;
using testing::FakeAgent;
using testing::kAgentTimeoutMs;
using testing::kNodeId;
using testing::Offered;

using Switches = std::map<std::string, bool>;

class DetailHandover : public ::testing::Test {
 protected:
  std::unique_ptr<ChildProgram> start(const std::string& mode, const std::string& argument = "",
                                      std::vector<std::string> environment = {}) {
    environment.push_back("FATHOM_AGENT_SOCKET=" + agent_.path());
    return std::make_unique<ChildProgram>(std::vector<std::string>{FATHOM_PROGRAMS "/client_victim", mode, argument},
                                          environment);
  }
  Offered next_offer(uint32_t magic) {
    auto offered = agent_.accept(kAgentTimeoutMs);
    EXPECT_TRUE(offered.has_value());
    if (!offered) return {};
    EXPECT_EQ(offered->offer.magic, magic);
    return std::move(*offered);
  }
  // The helper's, after that of the thread that made the span pool.
  Offered lasting(uint32_t abilities = pool::kTakesDetail) {
    next_offer(pool::kSocketMagic);
    return answered(abilities);
  }
  Offered answered(uint32_t abilities = pool::kTakesDetail) {
    Offered offered = next_offer(pool::kSocketMagic);
    EXPECT_TRUE(offered.answer(pool::Verdict::kTaken, kNodeId, abilities));
    return offered;
  }
  static Offered detail_over(const Offered& connection) {
    auto offered = connection.next_offer(kAgentTimeoutMs);
    EXPECT_TRUE(offered.has_value());
    if (!offered) return {};
    EXPECT_EQ(offered->offer.magic, pool::kDetailOfferMagic);
    return std::move(*offered);
  }
  static void tell(ChildProgram& program, const std::string& word) {
    program.say(word);
    EXPECT_EQ(program.line(), word);
  }
  static std::vector<std::string> numbers(const Offered& offered) {
    DetailReader reader = DetailReader::of_file(offered.pool.get());
    std::vector<std::string> found;
    for (const auto& event : reader.events()) found.push_back(event["number"]);
    EXPECT_TRUE(reader.faults().empty());
    return found;
  }
  // Until the helper has obeyed.
  static bool becomes(const Offered& detail, const Switches& wanted) {
    DetailReader reader = DetailReader::of_file(detail.pool.get());
    for (int i = 0; i < kAgentTimeoutMs; i++) {
      if (reader.switches() == wanted) return true;
      usleep(1000);
    }
    return false;
  }

  FakeAgent agent_;
};

TEST_F(DetailHandover, APoolThatIsMadeLateIsOfferedAtOnceAndOverTheLastingConnection) {
  auto program = start("late-event");
  const Offered spans = lasting();
  EXPECT_EQ(program->line(), "ready");
  tell(*program, "event");
  const Offered at_once = next_offer(pool::kDetailOfferMagic);
  const Offered detail = detail_over(spans);
  EXPECT_EQ(detail.inode, at_once.inode);
  EXPECT_NE(detail.inode, spans.inode);
  EXPECT_EQ(numbers(detail), std::vector<std::string>{"0"});
  EXPECT_TRUE(at_once.wait_for_end(kAgentTimeoutMs));
  tell(*program, "event");
  EXPECT_EQ(numbers(detail), (std::vector<std::string>{"0", "1"}));
}

TEST_F(DetailHandover, AnAgentThatDoesNotKnowDetailIsLeftAlone) {
  auto program = start("late-event");
  const Offered spans = lasting(0);
  EXPECT_EQ(program->line(), "ready");
  tell(*program, "event");
  EXPECT_EQ(numbers(next_offer(pool::kDetailOfferMagic)), std::vector<std::string>{"0"});
  EXPECT_FALSE(spans.next_offer(2500).has_value()) << "it would end the connection, and get it again, for ever";
  EXPECT_FALSE(agent_.accept(0).has_value());
}

TEST_F(DetailHandover, ANewAgentGetsBothAndWhatTheOldOneReadIsVoid) {
  auto program = start("late-event");
  Offered spans = lasting();
  EXPECT_EQ(program->line(), "ready");
  tell(*program, "event");
  const Offered detail = next_offer(pool::kDetailOfferMagic);
  const uint32_t reader = DetailReader::of_file(detail.pool.get()).header().reader.load();
  detail_over(spans);
  for (uint32_t i = 1; i <= 3; i++) {
    agent_.close();
    agent_.listen();
    spans = Offered{};
    spans = answered();
    EXPECT_EQ(detail_over(spans).inode, detail.inode);
    EXPECT_EQ(DetailReader::of_file(detail.pool.get()).header().reader.load(), reader + i);
  }
}

TEST_F(DetailHandover, AnAgentThatComesLaterGetsBoth) {
  agent_.close();
  auto program = start("late-event");
  EXPECT_EQ(program->line(), "ready");
  tell(*program, "event");
  agent_.listen();
  EXPECT_EQ(numbers(detail_over(answered())), std::vector<std::string>{"0"});
}

TEST_F(DetailHandover, AnAgentWithoutRoomIsAskedAgain) {
  auto program = start("late-event");
  const Offered spans = lasting();
  EXPECT_EQ(program->line(), "ready");
  tell(*program, "event");
  detail_over(spans);
  EXPECT_TRUE(spans.answer(pool::Verdict::kTooMany, kNodeId));
  EXPECT_EQ(numbers(detail_over(spans)), std::vector<std::string>{"0"});
}

TEST_F(DetailHandover, AProgramThatMakesNoSpansHasAHelperToo) {
  auto program = start("late-event", "no spans");
  EXPECT_EQ(program->line(), "ready");
  EXPECT_FALSE(agent_.accept(0).has_value());
  tell(*program, "event");
  next_offer(pool::kSocketMagic);
  uint64_t at_once = 0;
  for (int i = 0; i < 2; i++) {  // the helper does not wait for its maker
    auto offered = agent_.accept(kAgentTimeoutMs);
    ASSERT_TRUE(offered.has_value());
    if (offered->offer.magic == pool::kDetailOfferMagic) {
      at_once = offered->inode;
      continue;
    }
    ASSERT_TRUE(offered->answer(pool::Verdict::kTaken, kNodeId, pool::kTakesDetail));
    EXPECT_EQ(numbers(detail_over(*offered)), std::vector<std::string>{"0"});
  }
  EXPECT_NE(at_once, 0U);
}

TEST_F(DetailHandover, AFirstEventInAHandler) {
  auto program = start("event-in-handler");
  EXPECT_EQ(program->line(), "ready");
  next_offer(pool::kSocketMagic);
  bool seen = false;
  for (int i = 0; i < 2 && !seen; i++) {
    auto offered = agent_.accept(kAgentTimeoutMs);
    ASSERT_TRUE(offered.has_value());
    seen = offered->offer.magic == pool::kDetailOfferMagic;
    if (seen) {
      EXPECT_EQ(numbers(*offered), std::vector<std::string>{"0"});
    }
  }
  EXPECT_TRUE(seen);
}

TEST_F(DetailHandover, AChildHasItsOwn) {
  auto program = start("event-in-child");
  std::map<uint64_t, Offered> pools;
  while (pools.size() < 2) {
    auto offered = agent_.accept(kAgentTimeoutMs);
    ASSERT_TRUE(offered.has_value());
    if (offered->offer.magic == pool::kDetailOfferMagic) pools[offered->inode] = std::move(*offered);
  }
  EXPECT_EQ(program->wait(), 0);
  std::set<std::vector<std::string>> events;
  for (const auto& [inode, pool] : pools) events.insert(numbers(pool));
  EXPECT_EQ(events, (std::set<std::vector<std::string>>{{"0"}, {"1"}}));
}

TEST_F(DetailHandover, AProgramThatHasClosedAllItsFilesOffersItAllTheSame) {
  auto program = start("late-event");
  const Offered spans = lasting();
  EXPECT_EQ(program->line(), "ready");
  tell(*program, "close");
  tell(*program, "event");
  EXPECT_EQ(numbers(next_offer(pool::kDetailOfferMagic)), std::vector<std::string>{"0"});
  EXPECT_FALSE(spans.wait_for_end(0));
}

TEST_F(DetailHandover, ThreadsThatBeginTogetherHaveOnePool) {
  for (int round = 0; round < 20; round++) {
    auto program = start("events-of-many");
    const std::string done = program->line();
    ASSERT_EQ(done.substr(0, 5), "done ");
    std::optional<Offered> offered;
    do {
      offered = agent_.accept(kAgentTimeoutMs);
      ASSERT_TRUE(offered.has_value());
    } while (offered->offer.magic != pool::kDetailOfferMagic);
    // Those that came while another thread met the tracepoint are counted.
    EXPECT_EQ(numbers(*offered).size() + std::stoull(done.substr(5)), 8U);
    program->kill();
    while (agent_.accept(0).has_value()) {
    }
  }
}

TEST_F(DetailHandover, TheAgentSwitchesTracepoints) {
  auto program = start("late-event", "", {"FATHOM_TRACEPOINTS=victim.quiet"});
  const Offered spans = lasting(pool::kTakesDetail | pool::kSaysTracepoints);
  EXPECT_EQ(program->line(), "ready");
  tell(*program, "event");
  const Offered detail = next_offer(pool::kDetailOfferMagic);
  EXPECT_TRUE(becomes(detail, {{"victim.event", true}, {"victim.quiet", true}}));
  EXPECT_TRUE(spans.say_tracepoints("-victim.*"));
  EXPECT_TRUE(becomes(detail, {{"victim.event", false}, {"victim.quiet", false}}));
  tell(*program, "event");
  EXPECT_EQ(numbers(detail), (std::vector<std::string>{"0", "0"}));
  EXPECT_TRUE(spans.say_tracepoints("-victim.event")) << "replaces what was said, and not what the program says";
  EXPECT_TRUE(becomes(detail, {{"victim.event", false}, {"victim.quiet", true}}));
  EXPECT_TRUE(spans.say_tracepoints(""));
  EXPECT_TRUE(becomes(detail, {{"victim.event", true}, {"victim.quiet", true}}));
}

TEST_F(DetailHandover, WhatAnAgentSaidBeforeIsVoidUnlessTheNextOneSaysIt) {
  auto program = start("late-event");
  Offered spans = lasting();
  EXPECT_EQ(program->line(), "ready");
  EXPECT_TRUE(spans.say_tracepoints("victim.quiet"));
  tell(*program, "event");
  const Offered detail = next_offer(pool::kDetailOfferMagic);
  EXPECT_TRUE(becomes(detail, {{"victim.event", true}, {"victim.quiet", true}}));
  spans = Offered{};
  spans = answered(pool::kSaysTracepoints | pool::kTracepointsFollow);
  EXPECT_TRUE(spans.say_tracepoints("-victim.event,victim.quiet"));
  EXPECT_TRUE(becomes(detail, {{"victim.event", false}, {"victim.quiet", true}}));
  spans = Offered{};
  spans = answered();
  EXPECT_TRUE(becomes(detail, {{"victim.event", true}, {"victim.quiet", false}}));
}

TEST_F(DetailHandover, WordsThatMeanNothingAreIgnored) {
  auto program = start("late-event");
  const Offered spans = lasting();
  EXPECT_EQ(program->line(), "ready");
  tell(*program, "event");
  const Offered detail = next_offer(pool::kDetailOfferMagic);
  pool::TracepointsMessage wrong = {pool::kTracepointsMagic, 1, 100, 0};  // more than there is
  EXPECT_EQ(send(spans.connection.get(), &wrong, sizeof wrong, 0), static_cast<ssize_t>(sizeof wrong));
  wrong = {pool::kTracepointsMagic, 2, 0, 0};
  EXPECT_EQ(send(spans.connection.get(), &wrong, sizeof wrong, 0), static_cast<ssize_t>(sizeof wrong));
  EXPECT_EQ(send(spans.connection.get(), "?", 1, 0), 1);
  EXPECT_TRUE(spans.say_tracepoints("-*" + std::string(3999, ',')));
  EXPECT_TRUE(spans.say_tracepoints("victim.quiet"));
  EXPECT_TRUE(becomes(detail, {{"victim.event", true}, {"victim.quiet", true}}));
}

}  // namespace
}  // namespace fathom::client
