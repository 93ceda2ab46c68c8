#include <gtest/gtest.h>

#include "cli/testing/fake_context.h"
#include "net/uri.h"

namespace fathom::cli {
namespace {

constexpr const char* kTraceId = "4bf92f3577b34da6a3ce929d0e0e4736";

// A target as it was meant, however it was encoded: "/path key=value key=value".
std::string decoded(const std::string& text) {
  Result<net::Target> target = net::parse_target(text);
  if (!target) return "malformed: " + text;
  std::string out = target->path;
  for (const auto& [key, value] : target->query) out += " " + key + "=" + value;
  return out;
}

std::string row(int64_t duration_ms, const std::string& operation = "GET /x") {
  return R"({"trace_id":")" + std::string(kTraceId) +
         R"(","span_id":"00f067aa0ba902b7","service":"shop","operation":")" + operation +
         R"(","start_time_unix_nano":"1795226400000000001","duration_nano":)" +
         std::to_string(duration_ms * 1'000'000) +
         R"(,"root_duration_nano":5,"complete":true,"error":false,"spans":8})";
}

std::string page(const std::string& rows, const std::string& cursor = "") {
  return R"({"rows":[)" + rows + "]" + (cursor.empty() ? "" : R"(,"next_cursor":")" + cursor + "\"") + "}";
}

TEST(Slowest, AsksForTheLastHourByTrace) {
  FakeWorld world;
  world.answer(200, page(row(1240)));
  EXPECT_EQ(world.run({"slowest"}), ExitCode::kOk);
  EXPECT_EQ(world.urls, std::vector<std::string>{"http://127.0.0.1:7070"});
  ASSERT_EQ(world.targets.size(), 1u);
  EXPECT_EQ(decoded(world.targets[0]),
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
  ASSERT_EQ(world.targets.size(), 1u);
  EXPECT_EQ(decoded(world.targets[0]),
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

std::string row_with(int duration_ms, int captures, int snapshots) {
  std::string text = row(duration_ms);
  text.pop_back();
  return text + R"(,"captures":)" + std::to_string(captures) + R"(,"snapshots":)" + std::to_string(snapshots) + "}";
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
  ASSERT_EQ(world.targets.size(), 1u);
  EXPECT_EQ(decoded(world.targets[0]),
            "/api/v1/slowest where=k >= 5 min_duration=5000000ns max_duration=5000000ns "
            "from=2026-11-21T00:00:00.000000000Z to=2026-11-21T00:00:00.000000000Z by=trace limit=20");
}

TEST(Slowest, TimesAreThoseThatTheApiTakes) {
  FakeWorld world;
  world.answer(200, page(""));
  EXPECT_EQ(world.run({"slowest", "--from", "1795226400.5", "--to", "2026-11-21T03:00:00 00:00"}), ExitCode::kOk);
  ASSERT_EQ(world.targets.size(), 1u);
  EXPECT_NE(decoded(world.targets[0]).find("from=2026-11-21T02:00:00.500000000Z to=2026-11-21T03:00:00.000000000Z"),
            std::string::npos)
      << world.targets[0];
}

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
  for (const char* id : {"", "xyz", "4bf92f3577b34da6a3ce929d0e0e473", "00000000000000000000000000000000"}) {
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
    R"("duration_nano":3000000000},{"span_id":"0000000000000003","parent_span_id":"0000000000000002",)"
    R"("service":"disk","operation":"read","start_time_unix_nano":"1795226400000000001","duration_nano":5}],)"
    R"("captures":[)";

std::string other_row(const std::string& id, int captures, int snapshots) {
  std::string text = row_with(3000, captures, snapshots);
  text.replace(text.find(kTraceId), 32, id);
  return text;
}

TEST(Trace, APartOfAnIdIsToldFromWhatIsNone) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"trace", "4bf92f"}, {"timeline", "4bf92f3577b3"}, {"capture", "--trace", "4BF92F3577"}}) {
    FakeWorld world;
    EXPECT_EQ(world.run(words), ExitCode::kUsage);
    EXPECT_NE(world.err.find("is the beginning of an id; a trace"), std::string::npos) << world.err;
    EXPECT_NE(world.err.find("must be whole: 32 hexadecimal digits"), std::string::npos) << world.err;
    EXPECT_TRUE(world.targets.empty());
  }
  FakeWorld world;
  EXPECT_EQ(world.run({"trace", "slowest"}), ExitCode::kUsage);
  EXPECT_NE(world.err.find("'slowest' is not a trace id"), std::string::npos) << world.err;
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
  EXPECT_EQ(decoded(world.targets[1]),
            "/api/v1/slowest service=shop operation=GET /x from=2026-11-21T01:00:00.000000001Z "
            "to=2026-11-21T03:00:00.000000001Z by=trace limit=200");
  const size_t begin = world.out.find("\nnothing of its threads was captured, and there is no snapshot of it\n");
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
