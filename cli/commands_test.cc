#include <gtest/gtest.h>

#include "cli/testing/fake_context.h"
#include "cli/testing/slow_rows.h"

namespace fathom::cli {
namespace {

TEST(Connection, TheEnvironmentNamesTheServer) {
  FakeWorld world;
  world.environment["FATHOM_URL"] = "http://elsewhere:9";
  world.answer(200, page(""));
  world.run({"slowest"});
  world.run({"slowest", "--url=http://flag:1"});
  EXPECT_EQ(world.urls, (std::vector<std::string>{"http://elsewhere:9", "http://flag:1"}));
}

TEST(ExitCodes, NobodyAnswers) {
  FakeWorld world;
  world.answer(unavailable("nobody listens at 127.0.0.1:7070"));
  EXPECT_EQ(world.run({"slowest"}), ExitCode::kUnreachable);
  EXPECT_EQ(world.err, "fathom: nobody listens at 127.0.0.1:7070\n");
  FakeWorld slow;
  slow.answer(Error{ErrorCode::kDeadline, "too slow"});
  EXPECT_EQ(slow.run({"trace", kTraceId}), ExitCode::kUnreachable);
}

TEST(ExitCodes, TheServerRefuses) {
  for (const char* body : {R"({"error":{"code":"invalid","message":"no such parameter"}})",
                           R"({"error":"no such parameter"})", "no such parameter\n"}) {
    FakeWorld world;
    world.answer(400, body);
    EXPECT_EQ(world.run({"slowest"}), ExitCode::kServerRefused);
    EXPECT_TRUE(world.err.starts_with("fathom: the server answered 400: no such parameter")) << world.err;
  }
  FakeWorld odd;
  odd.answer(200, "<html>");
  EXPECT_EQ(odd.run({"slowest"}), ExitCode::kServerRefused);
  EXPECT_NE(odd.err.find("is it fathom"), std::string::npos);
}

TEST(Connection, APathOfTheUrlGoesFirst) {
  FakeWorld world;
  world.answer(200, page(""));
  world.run({"slowest", "--url", "http://h:1/fathom/", "--limit=1"});
  EXPECT_EQ(world.urls, std::vector<std::string>{"http://h:1"});
  ASSERT_EQ(world.targets.size(), 1u);
  EXPECT_TRUE(world.targets[0].starts_with("/fathom/api/v1/slowest?")) << world.targets[0];
  EXPECT_EQ(world.run({"slowest", "--url", "http://h:1/?x=y"}), ExitCode::kUsage);
}

TEST(ExitCodes, AnotherFaceThanTheQueries) {
  FakeWorld world;
  world.answer(404, R"({"code":5,"message":"traces are taken at POST /v1/traces"})");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"slowest"}, {"services"}, {"latency"}, {"trace", kTraceId}}) {
    world.err.clear();
    EXPECT_EQ(world.run(words), ExitCode::kServerRefused) << words[0];
    EXPECT_NE(world.err.find("address for queries"), std::string::npos) << world.err;
  }
}

TEST(ExitCodes, OnlyATraceCanBeMissing) {
  FakeWorld world;
  world.answer(404, R"({"error":{"code":"not_found","message":"there is nothing at /x/api/v1/slowest"}})");
  for (const char* command : {"slowest", "services", "latency"}) {
    world.err.clear();
    EXPECT_EQ(world.run({command, "--url", "http://h:1/x"}), ExitCode::kServerRefused) << command;
    EXPECT_EQ(world.err, "fathom: there is nothing at /x/api/v1/slowest\n");
  }
}

TEST(Up, WrongPlacesAreSaidBeforeAnythingStarts) {
  for (const char* flag :
       {"--http=nonsense", "--otlp-grpc=", "--otlp-http=1.2.3.4:99999", "--query-grpc=h", "--data="}) {
    FakeWorld world;
    world.environment["HOME"] = "/nowhere";
    EXPECT_EQ(world.run({"up", flag}), ExitCode::kUsage) << flag;
    std::string name = std::string(flag).substr(0, std::string_view(flag).find('='));
    EXPECT_TRUE(world.err.starts_with("fathom: " + name + ": ")) << world.err;
  }
}

TEST(Trace, NotFoundIsOne) {
  FakeWorld world;
  world.answer(404, R"({"error":{"message":"no span of this trace is stored"}})");
  EXPECT_EQ(world.run({"trace", kTraceId}), ExitCode::kNothingFound);
  EXPECT_EQ(world.err, "fathom: no span of this trace is stored\n");
}

TEST(Trace, IdsAreCheckedHere) {
  for (const char* id :
       {"", "xyz", "4bf92f3", "4bf92f3577b34da6a3ce929d0e0e47360", "00000000000000000000000000000000"}) {
    FakeWorld world;
    EXPECT_EQ(world.run({"trace", id}), ExitCode::kUsage);
    EXPECT_TRUE(world.targets.empty());
  }
  FakeWorld upper;
  upper.answer(200, R"({"trace_id":"x","spans":[]})");
  EXPECT_EQ(upper.run({"trace", "4BF92F3577B34DA6A3CE929D0E0E4736"}), ExitCode::kOk);
  EXPECT_EQ(upper.targets, std::vector<std::string>{"/api/v1/traces/" + std::string(kTraceId)});
}

TEST(Trace, JsonIsTheServersOwnWords) {
  FakeWorld world;
  std::string body = R"({"trace_id":"x","spans":[{"attributes":{"big":12345678901234567890,"d":1.10}}]})";
  world.answer(200, body);
  EXPECT_EQ(world.run({"trace", kTraceId, "--format", "json"}), ExitCode::kOk);
  EXPECT_EQ(world.out, body + "\n");
}

constexpr const char* kBareTrace =
    R"({"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","complete":true,"spans":[)"
    R"({"span_id":"0000000000000001","service":"shop","operation":"GET /x","start_time_unix_nano":"1795226400000000001",)"
    R"("duration_nano":4000000000},{"span_id":"0000000000000002","parent_span_id":"0000000000000001",)"
    R"("service":"stock","operation":"it's slow","start_time_unix_nano":"1795226400000000001",)"
    R"("duration_nano":3000000000,"resource":0},{"span_id":"0000000000000003","parent_span_id":"0000000000000002",)"
    R"("service":"disk","operation":"read","start_time_unix_nano":"1795226400000000001","duration_nano":5}],)"
    R"("resources":[{"attributes":{"telemetry.sdk.name":"fathom"}}],)"
    R"("captures":[)";

std::string other_row(const std::string& id, int captures, int snapshots) {
  std::string text = row_with(3000, captures, snapshots);
  text.replace(text.find(kTraceId), 32, id);
  return text;
}

TEST(Trace, AnOversizedTraceComesInPages) {
  FakeWorld world;
  std::string page = std::string(kBareTrace) + R"(],"oversized":true,"spans_at_most":9876543,"next_cursor":"AB-c"})";
  page.replace(page.find("\"complete\":true"), 15, R"("complete":false,"duration_nano":7200000000000)");
  world.answer(200, page);
  EXPECT_EQ(world.run({"trace", kTraceId, "--page", "3"}), ExitCode::kOk);
  EXPECT_EQ(world.targets.front(), "/api/v1/traces/" + std::string(kTraceId) + "?limit=3");
  EXPECT_NE(world.out.find("it took 2 h 00 min and has at most 9,876,543 stored spans; this page has 3 of them"),
            std::string::npos)
      << world.out;
  EXPECT_NE(world.out.find("next page: fathom trace " + std::string(kTraceId) + " --cursor AB-c\n"), std::string::npos);
  EXPECT_EQ(world.out.find("incomplete"), std::string::npos);

  FakeWorld last;
  page.replace(page.find("AB-c"), 4, "");
  last.answer(200, page);
  EXPECT_EQ(last.run({"trace", kTraceId, "--cursor", "AB-c"}), ExitCode::kOk);
  EXPECT_EQ(last.targets.front(), "/api/v1/traces/" + std::string(kTraceId) + "?cursor=AB-c");
  EXPECT_NE(last.out.find("this is the last page\n"), std::string::npos) << last.out;
}

TEST(Trace, APartOfAnIdIsToldFromWhatIsNone) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"trace", "4bf92f"}, {"timeline", "4bf92f3"}, {"capture", "--trace", "4BF92F3577"}}) {
    FakeWorld world;
    EXPECT_EQ(world.run(words), ExitCode::kUsage);
    EXPECT_NE(world.err.find("is the beginning of an id; a trace"), std::string::npos) << world.err;
    const char* must = words[0] == "capture" ? "it must be whole" : "at least 8 must be there";
    EXPECT_NE(world.err.find(must), std::string::npos) << world.err;
    EXPECT_TRUE(world.targets.empty());
  }
  FakeWorld world;
  EXPECT_EQ(world.run({"trace", "slowest"}), ExitCode::kUsage);
  EXPECT_NE(world.err.find("'slowest' is not a trace id"), std::string::npos) << world.err;
}

TEST(Trace, GoesByTheBeginningOfItsId) {
  for (const char* name : {"trace", "timeline"}) {
    FakeWorld world;
    world.answer(404, R"({"error":{"code":"not_found","message":"no span of a trace whose id begins so"}})");
    EXPECT_EQ(world.run({name, "4BF92F35"}), ExitCode::kNothingFound);
    EXPECT_TRUE(world.targets[0].starts_with("/api/v1/traces/4bf92f35")) << world.targets[0];
    EXPECT_NE(world.err.find("begins so"), std::string::npos) << world.err;
  }
  FakeWorld several;
  several.answer(400, R"({"error":{"code":"bad_request","message":"write more of it: aa, bb"}})");
  EXPECT_EQ(several.run({"timeline", "4bf92f35"}), ExitCode::kServerRefused);
  EXPECT_EQ(several.targets.size(), 1u);
  EXPECT_NE(several.err.find("write more of it: aa, bb"), std::string::npos) << several.err;
}

TEST(Trace, WithoutACaptureSaysWhatToDoNext) {
  const std::string captured(32, 'a'), recorded(32, 'b'), bare(32, 'c');
  FakeWorld world;
  world.answer(200, kBareTrace + std::string("]}"));
  std::string held = other_row(std::string(32, 'd'), 1, 1);
  held.insert(held.size() - 1, R"(,"stepped":true)");
  world.answer(200, page(row_with(4000, 1, 1) + "," + held + "," + other_row(bare, 0, 0) + "," +
                         other_row(captured, 1, 0) + "," + other_row(recorded, 1, 1)));
  EXPECT_EQ(world.run({"trace", kTraceId}), ExitCode::kOk);
  ASSERT_EQ(world.targets.size(), 2u);
  EXPECT_EQ(decoded_target(world.targets[1]),
            "/api/v1/slowest service=shop operation=GET /x from=2026-11-21T01:00:00.000000001Z "
            "to=2026-11-21T03:00:00.000000001Z by=trace limit=200");
  const size_t begin = world.out.find(
      "\nnothing was captured for this trace ('fathom timeline' shows other captures of that time or says why), "
      "and there is no snapshot\n");
  ASSERT_NE(begin, std::string::npos) << world.out;
  const std::string steps = world.out.substr(begin);
  EXPECT_NE(steps.find("captured: fathom timeline " + captured + "\n"), std::string::npos) << steps;
  EXPECT_NE(steps.find("recorded: fathom trace    " + recorded + "\n"), std::string::npos) << steps;
  EXPECT_EQ(steps.find(bare), std::string::npos) << steps;
  EXPECT_EQ(steps.find(std::string(32, 'd')), std::string::npos) << "single steps made it slow: " << steps;
  EXPECT_EQ(steps.find(kTraceId), std::string::npos) << "it is not its own likeness: " << steps;
  EXPECT_NE(
      steps.find("fathom record --span 'it'\\''s slow' --min-duration 1500ms --threads all --steps 50000 -- COMMAND\n"),
      std::string::npos)
      << "where most of the time went: " << steps;
  EXPECT_NE(steps.find("fathom up --pt"), std::string::npos);
}

TEST(Trace, ThatWasCapturedSaysHowToGoDeeper) {
  FakeWorld world;
  world.answer(200, kBareTrace + std::string(R"({"id":"ca","trigger":"slow"}]})"));
  EXPECT_EQ(world.run({"trace", kTraceId}), ExitCode::kOk);
  EXPECT_EQ(world.targets.size(), 1u);
  EXPECT_NE(world.out.find("fathom record --span"), std::string::npos) << world.out;
  EXPECT_EQ(world.out.find("nothing of its threads"), std::string::npos) << world.out;
}

TEST(Timeline, WithoutACaptureSaysWhatToDoNext) {
  FakeWorld world;
  world.answer(200, R"({"trace_id":")" + std::string(kTraceId) + R"(","captures":[],"processes":[]})");
  world.answer(200, kBareTrace + std::string("]}"));
  world.answer(200, page(""));
  EXPECT_EQ(world.run({"timeline", kTraceId}), ExitCode::kOk);
  EXPECT_EQ(world.targets.size(), 3u);
  EXPECT_NE(world.out.find("\nno request with GET /x of shop has more"), std::string::npos) << world.out;
  EXPECT_NE(world.out.find("--min-duration 1500ms"), std::string::npos) << world.out;
}

TEST(Program, HelpTeaches) {
  FakeWorld world;
  EXPECT_EQ(world.run({"--help"}), ExitCode::kOk);
  for (const char* name : {"demo", "up", "slowest", "trace", "services", "latency", "doctor", "exit codes"}) {
    EXPECT_NE(world.out.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(world.err, "");
}

TEST(Program, EveryCommandHasHelpWithExamples) {
  for (const char* name : {"demo", "up", "slowest", "trace", "services", "latency", "doctor"}) {
    FakeWorld flag;
    EXPECT_EQ(flag.run({name, "--help"}), ExitCode::kOk);
    EXPECT_NE(flag.out.find("examples:\n"), std::string::npos) << name;
    FakeWorld word;
    EXPECT_EQ(word.run({"help", name}), ExitCode::kOk);
    EXPECT_EQ(word.out, flag.out);
  }
}

TEST(Program, HelpIsGivenWhateverElseIsSaid) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"slowest", "--help", "x"},
                                             {"slowest", "x", "--help"},
                                             {"slowest", "--help", "--no-such-flag"},
                                             {"slowest", "--errors", "--errors", "-h"},
                                             {"help", "slowest", "x"}}) {
    FakeWorld world;
    EXPECT_EQ(world.run(words), ExitCode::kOk) << words.back();
    EXPECT_TRUE(world.out.starts_with("fathom slowest: ")) << words.back();
    EXPECT_EQ(world.err, "");
  }
  FakeWorld value;
  EXPECT_EQ(value.run({"slowest", "--since", "-h"}), ExitCode::kUsage) << "a flag's value is no question for help";
}

TEST(Program, WhatMayCountTwiceIsSaid) {
  for (const char* name : {"services", "latency"}) {
    FakeWorld world;
    world.run({name, "--help"});
    EXPECT_NE(world.out.find("sent again"), std::string::npos) << name;
  }
}

TEST(Program, WithoutACommandTheHelpGoesToStandardError) {
  FakeWorld world;
  EXPECT_EQ(world.run({}), ExitCode::kUsage);
  EXPECT_EQ(world.out, "");
  EXPECT_NE(world.err.find("usage: fathom COMMAND"), std::string::npos);
}

TEST(Program, UnknownCommandsAreNamedWithTheNearest) {
  FakeWorld world;
  EXPECT_EQ(world.run({"slowst"}), ExitCode::kUsage);
  EXPECT_EQ(world.err, "fathom: unknown command 'slowst' (did you mean slowest?); see fathom --help\n");
}

TEST(Program, SaysItsVersion) {
  FakeWorld world;
  EXPECT_EQ(world.run({"--version"}), ExitCode::kOk);
  EXPECT_TRUE(world.out.starts_with("fathom "));
}

}  // namespace
}  // namespace fathom::cli
