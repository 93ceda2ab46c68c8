#include "node-agent/agent/tracepoint_switch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "node-agent/agent/tracepoints_face.h"
#include "node-agent/testing/agent_fixture.h"

namespace fathom::agent {
namespace {

using pool::Verdict;
using testing::ScriptedPool;
using testing::SocketClient;

const ProcessId kOne{.pid = 10, .started_ticks = 100};
const ProcessId kLater{.pid = 10, .started_ticks = 200};

TEST(TracepointRules, SayWhatIsAboutAProcess) {
  TracepointRules rules;
  ASSERT_TRUE(rules.add({}, "cache.*").ok());
  ASSERT_TRUE(rules.add({.service = "shop"}, "-cache.hit,pay").ok());
  EXPECT_EQ(rules.patterns_of(kOne, "shop"), "cache.*,-cache.hit,pay");
  EXPECT_EQ(rules.patterns_of(kOne, "cart"), "cache.*");
}

TEST(TracepointRules, WhatIsSaidAgainReplacesWhatWasSaid) {
  TracepointRules rules;
  for (const char* list : {"a,b", "-a", "c", "a", "-b"}) ASSERT_TRUE(rules.add({}, list).ok());
  EXPECT_EQ(rules.patterns_of(kOne, ""), "c,a,-b");
}

TEST(TracepointRules, AProcessIsNotWhoeverHasItsNumberLater) {
  TracepointSelector selector{.process = identify_process(::getpid())};
  TracepointRules rules;
  ASSERT_TRUE(rules.add(selector, "a").ok());
  EXPECT_EQ(rules.patterns_of(*selector.process, ""), "a");
  EXPECT_EQ(rules.patterns_of(kLater, ""), "");
  EXPECT_EQ(TracepointSelector{.process = kOne}, TracepointSelector{.process = kOne});
  EXPECT_FALSE(TracepointSelector{.process = kOne}.covers(kLater, ""));
}

TEST(TracepointRules, RulesOfProcessesThatAreGoneGo) {
  TracepointRules rules;
  ASSERT_TRUE(rules.add({.process = ProcessId{.pid = INT32_MAX, .started_ticks = 1}}, "a").ok());
  ASSERT_TRUE(rules.add({}, "b").ok());
  EXPECT_EQ(rules.patterns_of({.pid = INT32_MAX, .started_ticks = 1}, ""), "b");
}

TEST(TracepointRules, WhatIsNoPatternIsRefusedAndNothingChanges) {
  TracepointRules rules;
  ASSERT_TRUE(rules.add({}, "a").ok());
  for (std::string list : {std::string(), std::string("b,,c"), std::string("-"), std::string("b c"),
                           std::string("b\nc"), std::string(300, 'b')}) {
    EXPECT_FALSE(rules.add({}, list).ok()) << list;
  }
  EXPECT_EQ(rules.patterns_of(kOne, ""), "a");
}

TEST(TracepointRules, NoMoreThanAProgramRemembers) {
  TracepointRules rules;
  int taken = 0;
  while (rules.add({}, std::to_string(taken) + std::string(200, 'x')).ok()) ++taken;
  EXPECT_EQ(taken, 19);
  EXPECT_LE(rules.patterns_of(kOne, "").size(), size_t{pool::kMostPatternBytes});
  EXPECT_TRUE(rules.add({}, "-0" + std::string(200, 'x')).ok()) << "in place of another one";
}

TEST(TracepointRules, WhatCoversAnOlderOneTakesItsPlace) {
  TracepointRules rules;
  ASSERT_TRUE(rules.add({.service = "shop"}, "cache.hit,pay").ok());
  ASSERT_TRUE(rules.add({.service = "cart"}, "-*").ok());
  EXPECT_EQ(rules.patterns_of(kOne, "shop"), "cache.hit,pay");
  ASSERT_TRUE(rules.add({}, "-cache.*").ok());
  EXPECT_EQ(rules.patterns_of(kOne, "shop"), "pay,-cache.*");
}

using Fleet = std::vector<TracepointRule>;

TEST(TracepointRules, TheFleetsAreReplacedAllTogether) {
  TracepointRules rules;
  ASSERT_TRUE(rules.replace_fleets({{true, "cache.*", ""}, {false, "cache.hit", "shop"}}).ok());
  EXPECT_EQ(rules.patterns_of(kOne, "shop"), "cache.*,-cache.hit");
  EXPECT_EQ(rules.patterns_of(kOne, "cart"), "cache.*");
  ASSERT_TRUE(rules.replace_fleets({{false, "cache.hit", "shop"}, {true, "pay", ""}}).ok());
  EXPECT_EQ(rules.patterns_of(kOne, "shop"), "-cache.hit,pay");
  ASSERT_TRUE(rules.replace_fleets({}).ok());
  EXPECT_EQ(rules.patterns_of(kOne, "shop"), "");
}

TEST(TracepointRules, WhatTheFleetSaysAgainDoesNotUndoWhatWasSaidHere) {
  TracepointRules rules;
  const Fleet fleet{{true, "cache.*", ""}};
  ASSERT_TRUE(rules.replace_fleets(fleet).ok());
  ASSERT_TRUE(rules.add({}, "-*").ok());
  ASSERT_TRUE(rules.replace_fleets(fleet).ok());
  EXPECT_EQ(rules.patterns_of(kOne, ""), "cache.*,-*");
  ASSERT_TRUE(rules.replace_fleets({{true, "cache.*", ""}, {true, "pay", ""}}).ok());
  EXPECT_EQ(rules.patterns_of(kOne, ""), "cache.*,-*,pay") << "what is new was said later";
  ASSERT_TRUE(rules.replace_fleets({}).ok());
  EXPECT_EQ(rules.patterns_of(kOne, ""), "-*");
}

// A request that is obeyed at once and the collector's list of all that was asked come to the same.
TEST(TracepointRules, ARequestOfTheFleetIsAmongTheFleetsRules) {
  TracepointRules rules;
  ASSERT_TRUE(rules.replace_fleets({{true, "a", ""}}).ok());
  ASSERT_TRUE(rules.add({}, "-a,b", RuleOrigin::kFleet).ok());
  ASSERT_TRUE(rules.add({}, "-b").ok());
  ASSERT_TRUE(rules.replace_fleets({{false, "a", ""}, {true, "b", ""}}).ok());
  EXPECT_EQ(rules.patterns_of(kOne, ""), "-a,b,-b");
}

TEST(TracepointRules, TheFleetsHaveRoomBeforeThoseOfHere) {
  TracepointRules rules;
  for (int i = 0; rules.add({}, std::to_string(i) + std::string(200, 'x')).ok(); ++i) continue;
  Fleet fleet;
  for (int i = 0; i < 10; ++i) fleet.push_back({true, std::to_string(i) + std::string(200, 'y'), ""});
  ASSERT_TRUE(rules.replace_fleets(fleet).ok());
  std::string told = rules.patterns_of(kOne, "");
  EXPECT_LE(told.size(), size_t{pool::kMostPatternBytes});
  EXPECT_EQ(std::count(told.begin(), told.end(), 'y'), 2000);
  EXPECT_NE(told.find("18x"), std::string::npos) << "the newest stays";
  EXPECT_EQ(told.find("9x"), std::string::npos) << "the oldest go";
}

TEST(TracepointRules, OfTheFleetsAllAreTakenOrNone) {
  TracepointRules rules;
  ASSERT_TRUE(rules.replace_fleets({{true, "a", ""}}).ok());
  for (const char* pattern : {"", "-b", "b,c", "b c"}) {
    EXPECT_FALSE(rules.replace_fleets({{true, "b", ""}, {true, pattern, ""}}).ok()) << pattern;
  }
  EXPECT_FALSE(rules.replace_fleets(Fleet(1, {true, std::string(300, 'b'), ""})).ok());
  EXPECT_EQ(rules.patterns_of(kOne, ""), "a");
}

class TracepointSwitchTest : public testing::AgentTest {
 protected:
  std::string next_words(SocketClient& client) {
    std::optional<std::string> words;
    until([&] { return (words = client.tracepoints()).has_value(); });
    return words.value_or("nothing");
  }
};

TEST_F(TracepointSwitchTest, ProgramsThatAreHereAreTold) {
  must_start();
  ScriptedPool shop_pool, cart_pool;
  shop_pool.set_resource({{"service.name", "shop"}});
  SocketClient shop(options_.listener.path), cart(options_.listener.path);
  ASSERT_EQ(offer(shop, shop_pool), Verdict::kTaken);
  ASSERT_EQ(offer(cart, cart_pool), Verdict::kTaken);
  EXPECT_TRUE((abilities_ & pool::kSaysTracepoints) != 0);
  ASSERT_TRUE(agent_->switch_tracepoints({.service = "shop"}, "cache.*").ok());
  EXPECT_EQ(next_words(shop), "cache.*");
  ASSERT_TRUE(agent_->switch_tracepoints({}, "-pay").ok());
  EXPECT_EQ(next_words(shop), "cache.*,-pay");
  EXPECT_EQ(next_words(cart), "-pay");
  ASSERT_TRUE(agent_->switch_tracepoints({.process = identify_process(::getpid())}, "x").ok());
  EXPECT_EQ(next_words(cart), "-pay,x");
}

TEST_F(TracepointSwitchTest, ProgramsThatComeAreTold) {
  must_start();
  ASSERT_TRUE(agent_->switch_tracepoints({}, "cache.*").ok());
  ScriptedPool pool;
  for (int i = 0; i < 2; ++i) {
    SocketClient program(options_.listener.path);
    ASSERT_EQ(offer(program, pool), Verdict::kTaken);
    EXPECT_TRUE((abilities_ & pool::kTracepointsFollow) != 0);
    EXPECT_EQ(next_words(program), "cache.*");
  }
}

TEST_F(TracepointSwitchTest, WhatTheFleetTakesBackIsTold) {
  must_start();
  ASSERT_TRUE(agent_->set_fleet_tracepoints({{true, "cache.*", ""}}).ok());
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  EXPECT_EQ(next_words(program), "cache.*");
  ASSERT_TRUE(agent_->set_fleet_tracepoints({}).ok());
  EXPECT_EQ(next_words(program), "");
}

TEST_F(TracepointSwitchTest, WhoDidNotListenWhenTheFleetTookAllBackIsToldLater) {
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  for (int i = 0; i < 400; ++i) {
    Fleet fleet{{true, std::to_string(i), ""}};
    for (char c = 'a'; c < 'p'; ++c) fleet.push_back({true, std::string(250, c), ""});
    ASSERT_TRUE(agent_->set_fleet_tracepoints(fleet).ok());
    pass_ticks(1);
  }
  ASSERT_TRUE(agent_->set_fleet_tracepoints({}).ok());
  pass_ticks(1);
  std::optional<std::string> last;
  EXPECT_TRUE(until([&] {
    while (std::optional<std::string> words = program.tracepoints()) last = std::move(words);
    return last == "";
  })) << last.value_or("nothing").substr(0, 3)
      << " was the last";
  EXPECT_FALSE(program.ended());
}

TEST_F(TracepointSwitchTest, WithoutRulesNothingIsSaid) {
  must_start();
  ScriptedPool pool;
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  EXPECT_TRUE((abilities_ & pool::kTracepointsFollow) == 0);
  pass_ticks(10);
  EXPECT_EQ(program.tracepoints(), std::nullopt);
  EXPECT_FALSE(program.ended());
}

TEST_F(TracepointSwitchTest, AProcessThatIsNotHereIsAnError) {
  must_start();
  Result<> switched = agent_->switch_tracepoints({.process = ProcessId{.pid = 1, .started_ticks = 1}}, "x");
  ASSERT_FALSE(switched.ok());
  EXPECT_EQ(switched.error().code, ErrorCode::kNotFound);
}

net::HttpRequest post(const std::vector<std::pair<std::string, std::string>>& query) {
  net::HttpRequest request;
  request.method = "POST";
  request.path = "/tracepoints";
  request.query = query;
  return request;
}

TEST_F(TracepointSwitchTest, TheFaceListsAndSwitches) {
  must_start();
  ScriptedPool pool;
  testing::ScriptedDetail detail;
  detail.describe(16, "cache.miss", {{pool::FieldType::kString, "key"}});
  SocketClient program(options_.listener.path);
  ASSERT_EQ(offer(program, pool), Verdict::kTaken);
  ASSERT_EQ(offer_detail(program, detail), Verdict::kTaken);
  std::string pid = std::to_string(::getpid());
  EXPECT_EQ(list_tracepoints(*agent_).body,
            "[{\"pid\":" + pid +
                ",\"service\":\"\",\"tracepoints\":[{\"name\":\"cache.miss\",\"file\":\"place.cc\","
                "\"line\":7,\"on\":false,\"fields\":[\"key\"]}]}]");
  EXPECT_EQ(switch_tracepoints(*agent_, post({{"patterns", "cache.*"}, {"pid", pid}})).status, 200);
  EXPECT_EQ(next_words(program), "cache.*");
  EXPECT_EQ(switch_tracepoints(*agent_, post({{"patterns", ""}})).status, 400);
  EXPECT_EQ(switch_tracepoints(*agent_, post({{"patterns", "a"}, {"pid", "7x"}})).status, 400);
  EXPECT_EQ(switch_tracepoints(*agent_, post({{"patterns", "a"}, {"pid", pid}, {"service", "b"}})).status, 400);
  EXPECT_EQ(switch_tracepoints(*agent_, post({{"patterns", "a"}, {"pid", "2147483647"}})).status, 404);
}

}  // namespace
}  // namespace fathom::agent
