#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "cli/testing/fake_context.h"
#include "cli/testing/slow_rows.h"

namespace fathom::cli {
namespace {

constexpr const char* kCapture =
    R"({"id":"ca000000000000000000000000000001","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","host_name":"shop-1",)"
    R"("service":"checkout","pid":4711,"trigger":"slow","operation":"POST /checkout",)"
    R"("start_time_unix_nano":"1795226400000000000","end_time_unix_nano":"1795226401188000000","size_bytes":8192,)"
    R"("damaged":false,"truncated":true,"losses":[{"name":"overwritten","count":3}]})";

std::string captures_page(const std::string& rows, const std::string& cursor = "") {
  return R"({"captures":[)" + rows + R"(],"next_cursor":")" + cursor + "\"}";
}

TEST(Captures, AreATableOfTheLastHour) {
  FakeWorld world;
  world.answer(200, captures_page(kCapture));
  EXPECT_EQ(world.run({"captures", "--service", "checkout", "--trigger", "slow"}), ExitCode::kOk);
  ASSERT_EQ(world.targets.size(), 1u);
  EXPECT_TRUE(world.targets[0].starts_with("/api/v1/captures?service=checkout&trigger=slow&from=")) << world.targets[0];
  EXPECT_NE(world.out.find("1.19 s"), std::string::npos) << world.out;
  EXPECT_NE(world.out.find("truncated, losses"), std::string::npos) << world.out;
  EXPECT_NE(world.out.find(std::string(kTraceId) + "\n"), std::string::npos) << world.out;
  EXPECT_EQ(world.out.find("ca000000000000000000000000000001"), std::string::npos) << "one id is enough";
  FakeWorld of_none;
  of_none.answer(200, captures_page(R"({"id":"ca000000000000000000000000000001","trace_id":"","service":"s"})"));
  EXPECT_EQ(of_none.run({"captures"}), ExitCode::kOk);
  EXPECT_NE(of_none.out.find("ca000000000000000000000000000001\n"), std::string::npos) << of_none.out;
}

TEST(Captures, WrongIdsAreExplained) {
  FakeWorld world;
  EXPECT_EQ(world.run({"export", "--perfetto", kTraceId}), ExitCode::kUsage);
  EXPECT_NE(world.err.find("missing ID (--perfetto has taken " + std::string(kTraceId) + " for its value)"),
            std::string::npos)
      << world.err;
  EXPECT_EQ(world.run({"capture", kTraceId}), ExitCode::kUsage);
  EXPECT_NE(world.err.find("did you mean --trace " + std::string(kTraceId)), std::string::npos) << world.err;
  world.answer(404, R"({"error":{"code":"not_found","message":"no span"}})");
  world.answer(200, R"({"id":")" + std::string(kTraceId) + R"(","trace_id":"ab"})");
  EXPECT_EQ(world.run({"trace", kTraceId}), ExitCode::kNothingFound);
  EXPECT_NE(world.err.find("this is a capture's id: fathom timeline"), std::string::npos) << world.err;
}

TEST(Captures, ATraceOfWhichNoSpanEndedSaysWhy) {
  FakeWorld world;
  world.answer(200, R"({"trace_id":"ab","spans":[],"captures":[{"trigger":"crash"}]})");
  EXPECT_EQ(world.run({"trace", kTraceId}), ExitCode::kOk);
  EXPECT_TRUE(world.out.starts_with("none of its spans had ended when the process died")) << world.out;
  EXPECT_EQ(world.out.find("\n\n\n"), std::string::npos) << world.out;
}

TEST(Captures, OfATraceAreOfAnyTime) {
  FakeWorld world;
  world.answer(200, captures_page(kCapture, "c1"));
  world.answer(200, captures_page(""));
  EXPECT_EQ(world.run({"captures", "--trace", kTraceId, "--format", "json"}), ExitCode::kOk);
  ASSERT_EQ(world.targets.size(), 2u);
  EXPECT_EQ(world.targets[0], std::string("/api/v1/captures?trace_id=") + kTraceId + "&limit=20");
  EXPECT_NE(world.targets[1].find("cursor=c1"), std::string::npos);
  EXPECT_TRUE(world.out.starts_with("[\n{\"id\":\"ca"));
}

TEST(Captures, NoneIsSuccess) {
  FakeWorld world;
  world.answer(200, captures_page(""));
  EXPECT_EQ(world.run({"captures"}), ExitCode::kOk);
  EXPECT_EQ(world.err, "no captures; --since 1d looks further back\n");
}

TEST(Captures, NoneOfALongTimeIsToldWithALongerOne) {
  for (const auto& [since, said] :
       {std::pair("1d", "no captures; --since 7d looks further back\n"), std::pair("30d", "no captures\n")}) {
    FakeWorld world;
    world.answer(200, captures_page(""));
    EXPECT_EQ(world.run({"captures", "--since", since}), ExitCode::kOk);
    EXPECT_EQ(world.err, said);
  }
}

TEST(Captures, ATraceSaysThatItHasSome) {
  FakeWorld world;
  world.answer(200, R"({"trace_id":")" + std::string(kTraceId) + R"(","spans":[],"captures":[)" + kCapture + "]}");
  EXPECT_EQ(world.run({"trace", kTraceId}), ExitCode::kOk);
  EXPECT_NE(world.out.find("captured: checkout on shop-1, pid 4711, 1.19 s, slow (truncated, losses)\n"
                           "what its threads did: fathom timeline " +
                           std::string(kTraceId) + "\n"),
            std::string::npos)
      << world.out;
}

// The note is made from the trace's document, without a further query.
TEST(Captures, ATraceNamesTheServicesThatHaveNone) {
  auto note = [](int others) {
    std::string spans = R"({"service":"checkout"},{"service":"pay\u001b"},{"service":"pay\u001b"})";
    for (int i = 0; i < others; ++i) spans += R"(,{"service":"other-)" + std::to_string(i) + "\"}";
    FakeWorld world;
    world.answer(200, R"({"trace_id":")" + std::string(kTraceId) + R"(","spans":[)" + spans + R"(],"captures":[)" +
                          kCapture + "]}");
    EXPECT_EQ(world.run({"trace", kTraceId}), ExitCode::kOk);
    EXPECT_EQ(world.targets.size(), 1u);
    EXPECT_EQ(world.out.find('\x1b'), std::string::npos);
    const size_t begin = world.out.find("no capture of this trace: ");
    if (begin == std::string::npos) return world.out;
    return world.out.substr(begin, world.out.find('\n', begin) - begin);
  };
  const std::string one = note(0);
  EXPECT_TRUE(one.starts_with("no capture of this trace: pay")) << one;
  EXPECT_TRUE(one.ends_with(" (the timeline shows other captures of that time or says why)")) << one;
  EXPECT_EQ(one.find("checkout"), std::string::npos) << one;
  EXPECT_EQ(one.find(','), std::string::npos) << "each once: " << one;
  EXPECT_TRUE(
      note(9).ends_with(", other-6 and 2 more services (the timeline shows other captures of that time or says why)"))
      << note(9);
}

// Two instances of one service on one node; only the first has a capture.
TEST(Captures, ATraceNamesTheInstanceThatHasNone) {
  const std::string resource = R"({"attributes":{"host.name":"pod-1","process.pid":)";
  const std::string node = R"("fathom.node.id":"0d"}})";
  FakeWorld world;
  world.answer(200, R"({"trace_id":")" + std::string(kTraceId) +
                        R"(","spans":[{"service":"pay","resource":0},{"service":"pay","resource":1},)"
                        R"({"service":"pay","resource":1}],"resources":[)" +
                        resource + "600," + node + "," + resource + R"(1,"fathom.process.id":700,)" + node +
                        R"(],"captures":[{"service":"pay","node_id":"0d","pid":600}]})");
  EXPECT_EQ(world.run({"trace", kTraceId}), ExitCode::kOk);
  EXPECT_NE(
      world.out.find("no capture of this trace: pay (pid 700 on pod-1) (the timeline shows other captures of that "
                     "time or says why)\n"),
      std::string::npos)
      << world.out;
}

TEST(Timeline, AsksForATraceAndThenForACapture) {
  FakeWorld world;
  world.answer(404, R"({"error":{"code":"not_found","message":"no such trace"}})");
  world.answer(200, R"({"trace_id":"","processes":[]})");
  EXPECT_EQ(world.run({"timeline", kTraceId, "--span", "00f067aa0ba902b7", "--all"}), ExitCode::kOk);
  ASSERT_EQ(world.targets.size(), 2u);
  std::string asked = std::string(kTraceId) + "/timeline?span=00f067aa0ba902b7&all=true";
  EXPECT_EQ(world.targets[0], "/api/v1/traces/" + asked);
  EXPECT_EQ(world.targets[1], "/api/v1/captures/" + asked);
  EXPECT_TRUE(world.out.starts_with("a capture of no trace\n")) << world.out;
}

TEST(Timeline, NeitherIsExitOne) {
  FakeWorld world;
  world.answer(404, R"({"error":{"code":"not_found","message":"no such trace"}})");
  EXPECT_EQ(world.run({"timeline", kTraceId}), ExitCode::kNothingFound);
  EXPECT_EQ(world.err, "fathom: no such trace\n");
}

TEST(Timeline, WrongIdsAreExitTwoAndAskNobody) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"timeline", "xyz"},
                                             {"timeline", kTraceId, "--capture", kTraceId},
                                             {"captures", "--trace", "zz"},
                                             {"captures", "--trigger", "foo"},
                                             {"capture", kTraceId},
                                             {"timeline", std::string(32, '0')},
                                             {"timeline", kTraceId, "--span", "12"},
                                             {"timeline", kTraceId, "--capture", "0x12"},
                                             {"timeline", kTraceId, "--format", "yaml"},
                                             {"export", kTraceId},
                                             {"export", "--perfetto", "-", "nothing"},
                                             {"captures", "--limit", "0"}}) {
    FakeWorld world;
    EXPECT_EQ(world.run(words), ExitCode::kUsage) << words.back();
    EXPECT_TRUE(world.targets.empty());
  }
}

TEST(Export, WritesWhatTheServerSays) {
  FakeWorld world;
  world.answer(200, std::string("\x0a\x00\xff", 3));
  EXPECT_EQ(world.run({"export", "--perfetto", "-", kTraceId}), ExitCode::kOk);
  EXPECT_EQ(world.out, std::string("\x0a\x00\xff", 3));
  EXPECT_TRUE(world.targets[0].starts_with("/api/v1/traces/" + std::string(kTraceId) + "/perfetto?"));
  std::string path = ::testing::TempDir() + "/fathom-export-test.pftrace";
  EXPECT_EQ(world.run({"export", "--perfetto", path, kTraceId}), ExitCode::kOk);
  std::ifstream file(path, std::ios::binary);
  std::stringstream written;
  written << file.rdbuf();
  EXPECT_EQ(written.str(), std::string("\x0a\x00\xff", 3));
  std::remove(path.c_str());
}

TEST(Export, AFileThatCannotBeWrittenIsThisHostsFault) {
  FakeWorld world;
  world.answer(200, "x");
  EXPECT_EQ(world.run({"export", "--perfetto", "/nowhere/at/all", kTraceId}), ExitCode::kLocalFailure);
  EXPECT_NE(world.err.find("No such file or directory"), std::string::npos) << world.err;
}

}  // namespace
}  // namespace fathom::cli
