#include <gtest/gtest.h>

#include "cli/testing/fake_context.h"
#include "cli/testing/slow_rows.h"

namespace fathom::cli {
namespace {

constexpr const char* kCaptureId = "00000000000000000000000000000abc";

std::string reply_of(const std::string& nodes) {
  return R"({"request_id":1,"nodes":[)" + nodes + "]}";
}
std::string node(const std::string& host, const std::string& captures, const std::string& skipped = "",
                 const std::string& failure = "") {
  return R"({"node_id":"00ff","host_name":")" + host + R"(","captures":[)" + captures + R"(],"skipped":")" + skipped +
         R"(","failure":")" + failure + "\"}";
}
std::string stored(const std::string& trace = "") {
  return R"({"id":")" + std::string(kCaptureId) + R"(","trace_id":")" + trace +
         R"(","service":"shop","pid":4711,"size_bytes":1048576})";
}
const std::string kQuoted = "\"" + std::string(kCaptureId) + "\"";
constexpr const char* kNotStored = R"({"error":{"code":"not_found","message":"no such capture is stored"}})";

TEST(Capture, OfATraceIsAskedForAndWaitedFor) {
  FakeWorld world;
  world.answer(200, reply_of(node("db-1", kQuoted) + "," + node("db-2", "", "nothing of this trace")));
  world.answer(404, kNotStored);
  world.answer(404, kNotStored);
  world.answer(200, stored(kTraceId));
  EXPECT_EQ(world.run({"capture", "--trace", kTraceId, "--reason", "why \"not\""}), ExitCode::kOk);
  ASSERT_EQ(world.posted.size(), 1u);
  EXPECT_EQ(world.posted[0], R"({"trace_id":")" + std::string(kTraceId) + R"(","reason":"why \"not\""})");
  ASSERT_EQ(world.targets.size(), 4u);
  EXPECT_EQ(world.targets[0], "/api/v1/captures");
  EXPECT_EQ(world.targets[3], "/api/v1/captures/" + std::string(kCaptureId));
  EXPECT_EQ(world.out,
            "CAPTURE                           HOST  SERVICE   PID     SIZE\n"
            "00000000000000000000000000000abc  db-1  shop     4711  1.0 MiB\n");
  EXPECT_EQ(world.err, "asking all nodes\nwaiting for 1 of them to be stored\nstored: " + std::string(kCaptureId) +
                           " of db-1\nnext: fathom timeline " + kTraceId + "\n");
}

TEST(Capture, EveryFlagReachesTheServer) {
  FakeWorld world;
  world.answer(200, reply_of(node("db-1", kQuoted)));
  world.answer(200, stored());
  EXPECT_EQ(world.run({"capture", "--service", "shop", "--node", "db-1", "--duration", "2s", "--ahead"}),
            ExitCode::kOk);
  EXPECT_EQ(world.posted.at(0), R"({"service":"shop","node":"db-1","duration_nano":2000000000,"ahead":true})");
  EXPECT_NE(world.err.find("asking node db-1; this takes 2 s\n"), std::string::npos) << world.err;
  EXPECT_NE(world.err.find("next: fathom timeline " + std::string(kCaptureId)), std::string::npos) << world.err;
  FakeWorld by_process;
  by_process.answer(200, reply_of(""));
  EXPECT_EQ(by_process.run({"capture", "--pid", "7"}), ExitCode::kNothingFound);
  EXPECT_EQ(by_process.posted.at(0), R"({"pid":7})");
}

TEST(Capture, WhereNobodyHasAnythingEachNodeSaysWhy) {
  FakeWorld world;
  world.answer(200, reply_of(node("db-1", "", "no process of this service") + "," +
                             node("e\\u001b[2J", "", "too many captures: \\\"requested\\\"") + "," +
                             node("db-3", "", "", "the node did not answer in time")));
  EXPECT_EQ(world.run({"capture", "--trace", kTraceId}), ExitCode::kNothingFound);
  EXPECT_EQ(world.out, "");
  EXPECT_EQ(world.err,
            "asking all nodes\nnothing was captured\ndb-1: no process of this service\n"
            "e\\x1b[2J: too many captures: \"requested\"\ndb-3: the node did not answer in time\n"
            "flight recorders hold some seconds: a trace must be asked for soon after it ended\n");
}

TEST(Capture, WhereNobodyHasTheProcessItSaysWhatMayBeWrong) {
  FakeWorld world;
  world.answer(200, reply_of(node("db-1", "", "this node has nothing of it")));
  EXPECT_EQ(world.run({"capture", "--service", "nosuch"}), ExitCode::kNothingFound);
  EXPECT_NE(world.err.find("this node has nothing of it\nagents have programs that use fathom's client"),
            std::string::npos)
      << world.err;
  FakeWorld alone;
  alone.answer(200, reply_of(""));
  EXPECT_EQ(alone.run({"capture", "--pid", "7"}), ExitCode::kNothingFound);
  EXPECT_NE(alone.err.find("no agent is connected to this server; see fathom nodes\n"), std::string::npos) << alone.err;
}

TEST(Capture, TheLargestCaptureIsWorthLookingAtFirst) {
  FakeWorld world;
  world.answer(200, reply_of(node("db-1", kQuoted + ",\"2\"")));
  world.answer(200, stored());
  world.answer(200, R"({"id":"2","service":"shop","pid":4712,"size_bytes":9999999})");
  EXPECT_EQ(world.run({"capture", "--service", "shop"}), ExitCode::kOk);
  EXPECT_NE(world.err.find("next: fathom timeline 2\n"), std::string::npos) << world.err;
}

TEST(Capture, WhatIsNotStoredInTimeIsListedAllTheSame) {
  FakeWorld world;
  world.answer(200, reply_of(node("db-1", kQuoted, "", "")));
  world.answer(404, kNotStored);
  EXPECT_EQ(world.run({"capture", "--pid", "7", "--timeout", "3s"}), ExitCode::kOk);
  EXPECT_EQ(world.slept_nano, 3'000'000'000u);
  EXPECT_NE(world.out.find("not yet\n"), std::string::npos) << world.out;
  EXPECT_NE(world.err.find("not all are stored yet"), std::string::npos);
}

constexpr const char* kBusy = R"({"error":{"code":"unavailable","message":"too many queries"}})";

TEST(Capture, AServerThatIsBusyForOneLookIsAskedAgain) {
  FakeWorld world;
  world.answer(200, reply_of(node("db-1", kQuoted)));
  world.answer(503, kBusy);
  world.answer(404, kNotStored);
  world.answer(200, stored());
  EXPECT_EQ(world.run({"capture", "--pid", "7"}), ExitCode::kOk);
  EXPECT_NE(world.err.find("stored: " + std::string(kCaptureId)), std::string::npos) << world.err;
  EXPECT_EQ(world.err.find("503"), std::string::npos) << world.err;
}

TEST(Capture, AServerThatStaysBusyIsSaidSo) {
  FakeWorld world;
  world.answer(200, reply_of(node("db-1", kQuoted)));
  world.answer(503, kBusy);
  EXPECT_EQ(world.run({"capture", "--pid", "7", "--timeout", "3s"}), ExitCode::kOk) << "nodes go on sending";
  EXPECT_EQ(world.slept_nano, 3'000'000'000u);
  EXPECT_NE(world.out.find("not yet\n"), std::string::npos) << world.out;
  EXPECT_NE(world.err.find("503: too many queries\nnot all are stored yet"), std::string::npos) << world.err;
}

TEST(Capture, FaultsOfTheServerAreItsOwnWords) {
  FakeWorld world;
  world.answer(404, R"({"error":{"code":"not_found","message":"node db-9 is not connected"}})");
  EXPECT_EQ(world.run({"capture", "--pid", "7", "--node", "db-9"}), ExitCode::kServerRefused);
  EXPECT_NE(world.err.find("fathom: node db-9 is not connected"), std::string::npos) << world.err;
  FakeWorld alone;
  EXPECT_EQ(alone.run({"capture", "--pid", "7"}), ExitCode::kUnreachable);
  FakeWorld dies;
  dies.answer(200, reply_of(node("db-1", kQuoted)));
  dies.answer(unavailable("nobody answers"));
  EXPECT_EQ(dies.run({"capture", "--pid", "7"}), ExitCode::kUnreachable);
  EXPECT_NE(dies.out.find(kCaptureId), std::string::npos) << "it is known, and may be stored";
}

TEST(Capture, JsonIsWhatTheNodesSaid) {
  FakeWorld world;
  world.answer(200, reply_of(node("db-1", kQuoted)));
  world.answer(200, stored());
  EXPECT_EQ(world.run({"capture", "--pid", "7", "--format", "json"}), ExitCode::kOk);
  EXPECT_EQ(world.out, "[\n" + node("db-1", kQuoted) + "\n]\n");
}

TEST(Capture, WrongFlagsAskNobody) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"--trace", "abc"},
                                             {"--trace", kTraceId, "--pid", "7"},
                                             {"--pid", "7", "--service", "x"},
                                             {"--pid", "0"},
                                             {"--service", ""},
                                             {"--pid", "7", "--node", ""},
                                             {"--pid", "7", "--duration", "0s"},
                                             {"--pid", "7", "--duration", "61s"},
                                             {"--pid", "7", "--format", "table"},
                                             {"4711"}}) {
    FakeWorld world;
    std::vector<std::string> all{"capture"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_EQ(world.run(all), ExitCode::kUsage) << (words.empty() ? "" : words.back());
    EXPECT_TRUE(world.targets.empty());
  }
}

}  // namespace
}  // namespace fathom::cli
