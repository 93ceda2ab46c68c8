#include <gtest/gtest.h>

#include "cli/testing/fake_context.h"

namespace fathom::cli {
namespace {

constexpr const char* kTracepointsAnswer =
    R"({"request_id":1,"nodes":[{"node_id":"00ff","host_name":"db-1","failure":"","truncated":false,"programs":[)"
    R"({"pid":7,"service":"shop","truncated":false,"tracepoints":[{"name":"cache.miss","file":"a.cc","line":3,"on":true},)"
    R"({"name":"e\u001b[2J","file":"b.cc","line":4,"on":false}]},)"
    R"({"pid":8,"service":"shop","truncated":false,"tracepoints":[{"name":"cache.miss","file":"a.cc","line":3,"on":false}]},)"
    R"({"pid":9,"service":"cart","truncated":false,"tracepoints":[{"name":"cache.miss","file":"a.cc","line":3,"on":true}]}]},)"
    R"({"node_id":"01ff","host_name":"db-2","failure":"the node has gone","truncated":false,"programs":[]}]})";
constexpr const char* kNone = R"({"request_id":1,"nodes":[{"host_name":"db-1","programs":[]}]})";

TEST(Tracepoints, AreListedWithTheirPrograms) {
  FakeWorld world;
  world.answer(200, kTracepointsAnswer);
  EXPECT_EQ(world.run({"tracepoints", "list", "cache.*", "e", "--service", "s&t", "--pid", "7", "--node", "db-1"}),
            ExitCode::kOk);
  EXPECT_EQ(world.targets.at(0), "/api/v1/tracepoints?pattern=cache.%2a&pattern=e&service=s%26t&pid=7&node=db-1");
  EXPECT_TRUE(world.posted.empty());
  EXPECT_EQ(world.out,
            "TRACEPOINT  SERVICE  PROGRAMS  STATE    PLACE\n"
            "cache.miss  cart            1  on       a.cc:3\n"
            "cache.miss  shop            2  on in 1  a.cc:3\n"
            "e\\x1b[2J    shop            1  off      b.cc:4\n");
  EXPECT_EQ(world.err, "db-2: the node has gone\n");
}

TEST(Tracepoints, AreSwitched) {
  FakeWorld world;
  world.answer(200, kTracepointsAnswer);
  EXPECT_EQ(world.run({"tracepoints", "enable", "cache.*", "x", "--service", "shop"}), ExitCode::kOk);
  EXPECT_EQ(world.targets.at(0), "/api/v1/tracepoints");
  EXPECT_EQ(world.posted.at(0), R"({"action":"enable","patterns":["cache.*","x"],"service":"shop"})");
  EXPECT_TRUE(world.out.starts_with("TRACEPOINT"));
  EXPECT_EQ(world.run({"tracepoints", "disable", "*", "--pid", "7", "--node", "a"}), ExitCode::kOk);
  EXPECT_EQ(world.posted.at(1), R"({"action":"disable","patterns":["*"],"pid":7,"node":"a"})");
}

TEST(Tracepoints, RulesAreListed) {
  FakeWorld world;
  world.answer(200, R"({"rules":[{"action":"enable","pattern":"cache.*","service":"shop","node_id":""},)"
                    R"({"action":"disable","pattern":"*","service":"","node_id":"00ff"}]})");
  EXPECT_EQ(world.run({"tracepoints", "rules"}), ExitCode::kOk);
  EXPECT_EQ(world.targets.at(0), "/api/v1/tracepoints/rules");
  EXPECT_EQ(world.out,
            "ACTION   PATTERN  SERVICE  NODE\n"
            "enable   cache.*  shop     any\n"
            "disable  *        any      00ff\n");
}

TEST(Tracepoints, NoRulesAreSaidSo) {
  FakeWorld world;
  world.answer(200, R"({"rules":[]})");
  EXPECT_EQ(world.run({"tracepoints", "rules"}), ExitCode::kOk);
  EXPECT_EQ(world.out, "");
  EXPECT_NE(world.err.find("nothing was switched"), std::string::npos);
}

TEST(Tracepoints, NothingThatMatchesIsSaidWithTheCure) {
  FakeWorld world;
  world.answer(200, kNone);
  EXPECT_EQ(world.run({"tracepoints", "enable", "typo.*"}), ExitCode::kOk);
  EXPECT_EQ(world.out, "");
  EXPECT_EQ(world.err,
            "no tracepoint of a running program matches; 'fathom tracepoints list' shows what there is\n"
            "programs and tracepoints that come later, and match, are switched then\n");
  world.err.clear();
  EXPECT_EQ(world.run({"tracepoints", "list"}), ExitCode::kOk);
  EXPECT_NE(world.err.find("FATHOM_EVENT"), std::string::npos);
}

TEST(Tracepoints, JsonIsTheNodes) {
  FakeWorld world;
  world.answer(200, kNone);
  EXPECT_EQ(world.run({"tracepoints", "list", "--format", "json"}), ExitCode::kOk);
  EXPECT_EQ(world.out, "[\n{\"host_name\":\"db-1\",\"programs\":[]}\n]\n");
}

TEST(Tracepoints, MoreThanAnAnswerHoldsIsSaid) {
  FakeWorld world;
  world.answer(200, R"({"nodes":[{"host_name":"a","programs":[{"truncated":true}]}]})");
  EXPECT_EQ(world.run({"tracepoints", "list"}), ExitCode::kOk);
  EXPECT_NE(world.err.find("there are more"), std::string::npos);
}

TEST(Tracepoints, WrongWordsAskNobody) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"tracepoints"},
                                             {"tracepoints", "show"},
                                             {"tracepoints", "rules", "cache.*"},
                                             {"tracepoints", "rules", "--service", "shop"},
                                             {"tracepoints", "enable"},
                                             {"tracepoints", "disable", "--service", "s"},
                                             {"tracepoints", "list", "--pid", "x"}}) {
    FakeWorld world;
    EXPECT_EQ(world.run(words), ExitCode::kUsage) << words.back();
    EXPECT_TRUE(world.targets.empty());
    EXPECT_FALSE(world.err.empty());
  }
}

TEST(Tracepoints, HelpShowsThatPatternsRepeat) {
  FakeWorld world;
  EXPECT_EQ(world.run({"tracepoints", "--help"}), ExitCode::kOk);
  EXPECT_NE(world.out.find("usage: fathom tracepoints list|enable|disable|rules [PATTERN ...] [flags]\n"),
            std::string::npos)
      << world.out;
}

}  // namespace
}  // namespace fathom::cli
