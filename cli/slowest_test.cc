#include <gtest/gtest.h>

#include "cli/testing/fake_context.h"
#include "cli/testing/slow_rows.h"

namespace fathom::cli {
namespace {

TEST(Slowest, AsksForTheLastHourByTrace) {
  FakeWorld world;
  world.answer(200, page(row(1240)));
  EXPECT_EQ(world.run({"slowest"}), ExitCode::kOk);
  EXPECT_EQ(world.urls, std::vector<std::string>{"http://127.0.0.1:7070"});
  ASSERT_EQ(world.targets.size(), 1u);
  EXPECT_EQ(decoded_target(world.targets[0]),
            "/api/v1/slowest from=2026-11-21T01:00:00.000000000Z to=2026-11-21T02:00:00.000000000Z by=trace limit=20");
  EXPECT_EQ(world.out,
            "DURATION  START (UTC)              SERVICE  OPERATION  SPANS  NOTE  TRACE ID\n"
            "  1.24 s  2026-11-21 02:00:00.000  shop     GET /x         8        4bf92f3577b34da6a3ce929d0e0e4736\n");
  EXPECT_EQ(world.err, "");
}

TEST(Slowest, EveryFilterReachesTheServerEncoded) {
  FakeWorld world;
  world.answer(200, page(""));
  EXPECT_EQ(world.run({"slowest",
                       "--service",
                       "a b",
                       "--operation",
                       "GET /x?y=1&z",
                       "--where",
                       "k=v=w",
                       "--where",
                       "u=\u00e9",
                       "--errors",
                       "--min-duration",
                       "250ms",
                       "--max-duration",
                       "1.5s",
                       "--from",
                       "1970-01-01T00:00:00.5Z",
                       "--to",
                       "now-1m",
                       "--by",
                       "span",
                       "--limit",
                       "5",
                       "--url",
                       "http://h:1"}),
            ExitCode::kOk);
  EXPECT_EQ(world.urls, std::vector<std::string>{"http://h:1"});
  ASSERT_GE(world.targets.size(), 1u);
  EXPECT_EQ(decoded_target(world.targets[0]),
            "/api/v1/slowest service=a b operation=GET /x?y=1&z where=k=v=w where=u=\u00e9 errors=true "
            "min_duration=250000000ns max_duration=1500000000ns from=1970-01-01T00:00:00.500000000Z "
            "to=2026-11-21T01:59:00.000000000Z by=span limit=5");
  EXPECT_EQ(world.out, "");
  EXPECT_EQ(world.err, "nothing matches\n") << "--since is no help to who chose the times";
}

TEST(Slowest, JsonIsTheArrayItselfOverAllPages) {
  FakeWorld world;
  world.answer(200, page(row(3) + "," + row(2), "c1"));
  world.answer(200, page(row(1, "evil \u009b"), "c2"));
  EXPECT_EQ(world.run({"slowest", "--format", "json", "--limit", "3"}), ExitCode::kOk);
  ASSERT_EQ(world.targets.size(), 2u);
  EXPECT_NE(world.targets[0].find("&limit=3"), std::string::npos);
  EXPECT_NE(world.targets[1].find("&limit=1&cursor=c1"), std::string::npos);
  std::string expected = "[\n" + row(3) + ",\n" + row(2) + ",\n" + row(1, "evil \\u009b") + "\n]\n";
  EXPECT_EQ(world.out, expected);
}

TEST(Slowest, NothingIsAnEmptyArrayAndSuccess) {
  FakeWorld world;
  world.answer(200, page(""));
  EXPECT_EQ(world.run({"slowest", "--format=json"}), ExitCode::kOk);
  EXPECT_EQ(world.out, "[]\n");
  EXPECT_EQ(world.err, "");
  FakeWorld table;
  table.answer(200, page(""));
  EXPECT_EQ(table.run({"slowest"}), ExitCode::kOk);
  EXPECT_EQ(table.err, "nothing matches; --since 1d looks further back\n");
}

TEST(Slowest, ASecondPageWithoutRowsEndsIt) {
  FakeWorld world;
  world.answer(200, page(row(3), "c1"));
  world.answer(200, page("", "c2"));
  EXPECT_EQ(world.run({"slowest"}), ExitCode::kOk);
  EXPECT_EQ(world.targets.size(), 2u);
}

TEST(Slowest, NotesAndSpanIds) {
  FakeWorld world;
  std::string odd = row(3, "x\x1b[31m");
  odd.replace(odd.find("\"complete\":true"), 15, "\"complete\":false");
  odd.replace(odd.find("\"error\":false"), 13, "\"error\":true");
  odd.replace(odd.find('\x1b'), 1, "\\u001b");
  world.answer(200, page(odd));
  EXPECT_EQ(world.run({"slowest", "--by", "span"}), ExitCode::kOk);
  EXPECT_NE(world.out.find("x\\x1b[31m"), std::string::npos);
  EXPECT_NE(world.out.find("error, incomplete"), std::string::npos);
  EXPECT_NE(world.out.find("00f067aa0ba902b7\n"), std::string::npos);
}

TEST(Slowest, AnOversizedRequestIsNotCalledIncomplete) {
  FakeWorld world;
  std::string large = row(3);
  large.replace(large.find("\"complete\":true"), 15, R"("complete":false,"oversized":true)");
  world.answer(200, page(large));
  EXPECT_EQ(world.run({"slowest"}), ExitCode::kOk);
  EXPECT_NE(world.out.find("oversized"), std::string::npos) << world.out;
  EXPECT_EQ(world.out.find("incomplete"), std::string::npos) << world.out;
}

TEST(Slowest, NotesSayOfWhichThereIsMore) {
  FakeWorld world;
  world.answer(200, page(row_with(9, 0, 0) + "," + row_with(8, 2, 0) + "," + row_with(7, 1, 3)));
  EXPECT_EQ(world.run({"slowest"}), ExitCode::kOk);
  EXPECT_NE(world.out.find("    9 ms  2026-11-21 02:00:00.000  shop     GET /x         8                      4bf"),
            std::string::npos)
      << world.out;
  EXPECT_NE(world.out.find("8  captured            4bf"), std::string::npos) << world.out;
  EXPECT_NE(world.out.find("8  captured, snapshot  4bf"), std::string::npos) << world.out;
}

// Their times say nothing of the program.
TEST(Slowest, WhatSingleStepsMadeSlowIsMarkedAndCanBeLeftOut) {
  std::string held = row(9000);
  held.insert(held.size() - 1, R"(,"stepped":true)");
  FakeWorld world;
  world.answer(200, page(held + "," + row(8)));
  EXPECT_EQ(world.run({"slowest"}), ExitCode::kOk);
  EXPECT_NE(world.out.find("  stepped  "), std::string::npos) << world.out;
  EXPECT_EQ(world.err,
            "1 of these is 'stepped': slow because 'fathom record' held a process; --no-stepped leaves them out\n");
  world.out.clear();
  world.err.clear();
  EXPECT_EQ(world.run({"slowest", "--no-stepped"}), ExitCode::kOk);
  EXPECT_EQ(world.out.find("stepped"), std::string::npos) << world.out;
  EXPECT_NE(world.out.find("8 ms"), std::string::npos) << world.out;
  EXPECT_EQ(world.err, "");
}

// However many of them there are at the top of the list.
TEST(Slowest, PagesAreReadUntilThereAreEnoughThatWereNotStepped) {
  std::string held = row(9000);
  held.insert(held.size() - 1, R"(,"stepped":true)");
  FakeWorld world;
  world.answer(200, page(held + "," + held, "more"));
  world.answer(200, page(held + "," + row(8) + "," + row(7)));
  EXPECT_EQ(world.run({"slowest", "--no-stepped", "--limit", "1"}), ExitCode::kOk);
  ASSERT_EQ(world.targets.size(), 2u);
  EXPECT_NE(world.targets[0].find("limit=200"), std::string::npos) << world.targets[0];
  EXPECT_NE(world.targets[1].find("cursor=more"), std::string::npos) << world.targets[1];
  EXPECT_NE(world.out.find("8 ms"), std::string::npos) << world.out;
  EXPECT_EQ(world.out.find("7 ms"), std::string::npos) << "as many as were asked for";
}

TEST(Slowest, TheServerIsAskedForThoseOfWhichThereIsMore) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> asked = {
      {{"--captured"}, "kept=captured"}, {{"--recorded"}, "kept=recorded"}, {{"--captured", "--recorded"}, "kept=any"}};
  for (const auto& [flags, parameter] : asked) {
    FakeWorld world;
    world.answer(200, page(row_with(8, 2, 1)));
    std::vector<std::string> words = {"slowest", "--limit", "5"};
    words.insert(words.end(), flags.begin(), flags.end());
    EXPECT_EQ(world.run(words), ExitCode::kOk);
    ASSERT_EQ(world.targets.size(), 1u);
    EXPECT_NE((world.targets[0] + "&").find(parameter + "&"), std::string::npos) << world.targets[0];
    EXPECT_NE(world.targets[0].find("limit=5"), std::string::npos) << world.targets[0];
    EXPECT_NE(world.out.find("8 ms"), std::string::npos);
    EXPECT_EQ(world.err, "");
  }
  FakeWorld world;
  world.answer(200, page(""));
  EXPECT_EQ(world.run({"slowest", "--recorded"}), ExitCode::kOk);
  EXPECT_EQ(world.err, "nothing that matches was recorded; --since 1d looks further back\n");
  world.err.clear();
  EXPECT_EQ(world.run({"slowest"}), ExitCode::kOk);
  EXPECT_EQ(world.targets[1].find("kept"), std::string::npos);
  EXPECT_EQ(world.err, "nothing matches; --since 1d looks further back\n");
}

TEST(Slowest, WrongFlagsAreExitTwoAndAskNobody) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"slowest", "--since", "1"},
                                             {"slowest", "--since", "1h", "--from", "now"},
                                             {"slowest", "--where", ""},
                                             {"slowest", "--by", "root"},
                                             {"slowest", "--limit", "-1"},
                                             {"slowest", "--limit", "0"},
                                             {"slowest", "--limit", "1000001"},
                                             {"slowest", "--format", "yaml"},
                                             {"slowest", "--min-duration", "5"},
                                             {"slowest", "--to", "tomorrow"},
                                             {"slowest", "--from", "2026-11-21T02:00Z", "--to", "2026-11-21"},
                                             {"services", "--from", "now", "--to", "now-1ms"},
                                             {"latency", "--from", "now", "--to", "now-1ms"},
                                             {"slowest", "--max-duration", "1ms", "--min-duration", "2ms"},
                                             {"slowest", "extra"},
                                             {"slowest", "--timeout", "soon"}}) {
    FakeWorld world;
    EXPECT_EQ(world.run(words), ExitCode::kUsage) << words.back();
    EXPECT_TRUE(world.targets.empty());
    EXPECT_TRUE(world.err.starts_with("fathom: ")) << world.err;
    EXPECT_EQ(world.out, "");
  }
}

TEST(Slowest, TimesAndDurationsMayMeet) {
  FakeWorld world;
  world.answer(200, page(""));
  EXPECT_EQ(world.run({"slowest", "--from=2026-11-21", "--to=2026-11-21T00:00", "--min-duration=5ms",
                       "--max-duration=5ms", "--where=k >= 5"}),
            ExitCode::kOk)
      << world.err;
  ASSERT_GE(world.targets.size(), 1u);
  EXPECT_EQ(decoded_target(world.targets[0]),
            "/api/v1/slowest where=k >= 5 min_duration=5000000ns max_duration=5000000ns "
            "from=2026-11-21T00:00:00.000000000Z to=2026-11-21T00:00:00.000000000Z by=trace limit=20");
}

TEST(Slowest, TimesAreThoseThatTheApiTakes) {
  FakeWorld world;
  world.answer(200, page(""));
  EXPECT_EQ(world.run({"slowest", "--from", "1795226400.5", "--to", "2026-11-21T03:00:00 00:00"}), ExitCode::kOk);
  ASSERT_EQ(world.targets.size(), 1u);
  EXPECT_NE(
      decoded_target(world.targets[0]).find("from=2026-11-21T02:00:00.500000000Z to=2026-11-21T03:00:00.000000000Z"),
      std::string::npos)
      << world.targets[0];
}

TEST(Slowest, ReportsLostBatchesOnStandardErrorOnce) {
  const std::string lost =
      R"({"losses":1,"first_received_unix_nano":"1795221000000000000","last_received_unix_nano":"1795221060000000000",)"
      R"("most_batches":3})";
  std::string first = page(row(3), "c1"), second = page(row(2));
  first.insert(first.rfind('}'), R"(,"lost_batches":)" + lost);
  second.insert(second.rfind('}'), R"(,"lost_batches":)" + lost);
  FakeWorld world;
  world.answer(200, first);
  world.answer(200, second);
  EXPECT_EQ(world.run({"slowest", "--limit", "2"}), ExitCode::kOk);
  EXPECT_EQ(world.err,
            "fathom: damage to the server's disk destroyed at most 3 batches of spans, received between "
            "2026-11-21T00:30:00.000000000Z and 2026-11-21T00:31:00.000000000Z; this answer may miss them\n");
  EXPECT_EQ(world.out.find("damage"), std::string::npos);
}

TEST(Slowest, ReportsPossiblyLostCaptures) {
  std::string answer = page(row(3));
  answer.insert(answer.rfind('}'), R"(,"lost_batches":{"losses":1,"first_received_unix_nano":"1795221000000000000",)"
                                   R"("last_received_unix_nano":"1795221060000000000","most_batches":0})");
  FakeWorld world;
  world.answer(200, answer);
  EXPECT_EQ(world.run({"slowest"}), ExitCode::kOk);
  EXPECT_EQ(world.err,
            "fathom: damage to the server's disk may have destroyed captures, received between "
            "2026-11-21T00:30:00.000000000Z and 2026-11-21T00:31:00.000000000Z; this answer may miss them\n");
}

}  // namespace
}  // namespace fathom::cli
