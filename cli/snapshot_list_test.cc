#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cli/testing/fake_context.h"
#include "cli/testing/scratch.h"

namespace fathom::cli {
namespace {

const std::string kHere(32, 'a'), kBoth(32, 'b'), kServer(32, 'c'), kDamaged(32, 'd');

std::string here_row(const std::string& id, uint64_t added_unix_nano) {
  return R"({"snapshot_id":")" + id + R"(","added_time_unix_nano":")" + std::to_string(added_unix_nano) +
         R"(","engine":"step","from":"recorded","slowdown":812,"host":"n1","command":"./shop","packet_bytes":2048,)"
         R"("streams":1,"images":3,"images_missing":1})";
}

std::string server_row(const std::string& id, uint64_t received_unix_nano) {
  return R"({"id":")" + id +
         R"(","engine":"intel_pt","origin":"raw_stream","taken_unix_nano":"0",)"
         R"("received_unix_nano":")" +
         std::to_string(received_unix_nano) +
         R"(","host":"n2","command":"\u001b[31m","bytes":9999,"packet_bytes":4096,"streams":2,"images":2,)"
         R"("missing_images":5,"slowdown":0,"damaged":false})";
}

class SnapshotList : public testing::Test {
 protected:
  SnapshotList() {
    world_.executable = scratch_.path() + "/fathom";
    world_.environment["FATHOM_SNAPSHOTS"] = "/snaps";
  }
  // What the worker has: that is here.
  void here(const std::string& rows) {
    scratch_.script("fathom-worker", "echo \"$@\" > " + scratch_.path() + "/words\ncat <<'END'\n" + rows + "\nEND\n");
  }
  void server(const std::string& rows) { world_.answer(200, R"({"snapshots":[)" + rows + R"(],"next_cursor":""})"); }
  ExitCode run(std::vector<std::string> words) {
    words.insert(words.begin(), {"snapshot", "list"});
    return world_.run(words);
  }

  Scratch scratch_;
  FakeWorld world_;
};

TEST_F(SnapshotList, OfBothSaysWhereAndIsInOneOrder) {
  here("[" + here_row(kBoth, 3'000) + "," + here_row(kHere, 1'000) + "]");
  server(server_row(kServer, 2'000) + "," + server_row(kBoth, 9'000) + R"(,{"id":")" + kDamaged +
         R"(","received_unix_nano":"0","damaged":true})");
  ASSERT_EQ(run({"--server"}), ExitCode::kOk) << world_.err;
  EXPECT_EQ(world_.targets, std::vector<std::string>{"/api/v1/snapshots?limit=200"});
  EXPECT_EQ(world_.urls.front(), "http://127.0.0.1:7070");
  EXPECT_EQ(
      world_.out,
      "SNAPSHOT                          WHERE   ADDED (UTC)              ENGINE                  FROM        PACKETS  "
      "STREAMS  IMAGES  COMMAND\n" +
          kBoth +
          "  both    1970-01-01 00:00:00.000  step, 812 times slower  recorded    2.0 KiB        1     2/3  ./shop\n" +
          kServer +
          "  server  1970-01-01 00:00:00.000  pt                      raw stream  4.0 KiB        2     0/2  "
          "\\x1b[31m\n" +
          kHere +
          "  here    1970-01-01 00:00:00.000  step, 812 times slower  recorded    2.0 KiB        1     2/3  ./shop\n" +
          kDamaged +
          "  server  1970-01-01 00:00:00.000  ?                       ?                 ?        ?       ?  the server "
          "cannot read its file any more\n");
  EXPECT_NE(read_file(scratch_.path() + "/words").find("--directory /snaps"), std::string::npos);
}

TEST_F(SnapshotList, JsonHasTheNamesOfThisHosts) {
  here("[" + here_row(kHere, 1'000) + "]");
  server(server_row(kServer, 2'000));
  ASSERT_EQ(run({"--url", "http://elsewhere:1", "--format", "json"}), ExitCode::kOk) << world_.err;
  EXPECT_EQ(world_.urls.front(), "http://elsewhere:1");
  const auto rows = boost::json::parse(world_.out).as_array();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("snapshot_id").as_string(), kServer);
  EXPECT_EQ(rows[0].at("where").as_string(), "server");
  EXPECT_TRUE(rows[0].at("slowdown").is_null());
  EXPECT_EQ(rows[1].at("where").as_string(), "here");
  for (const auto& member : rows[1].as_object())
    EXPECT_TRUE(rows[0].as_object().contains(member.key())) << member.key();
}

TEST_F(SnapshotList, TheLimitIsOfBothTogether) {
  here("[" + here_row(kBoth, 3'000) + "," + here_row(kHere, 1'000) + "]");
  server(server_row(kServer, 2'000));
  ASSERT_EQ(run({"--server", "--limit", "2", "--format", "json"}), ExitCode::kOk);
  EXPECT_EQ(boost::json::parse(world_.out).as_array().size(), 2u);
  EXPECT_EQ(world_.out.find(kHere), std::string::npos);
}

TEST_F(SnapshotList, NothingIsSaid) {
  here("[]");
  server("");
  EXPECT_EQ(run({"--server"}), ExitCode::kOk);
  EXPECT_EQ(world_.out, "");
  EXPECT_EQ(world_.err, "there is no snapshot, neither here nor on the server\n");
}

TEST_F(SnapshotList, AServerThatIsAwayIsAFailure) {
  here("[" + here_row(kHere, 1'000) + "]");
  world_.answer(unavailable("nobody listens"));
  EXPECT_EQ(run({"--server"}), ExitCode::kUnreachable);
  EXPECT_NE(world_.err.find("nobody listens"), std::string::npos);
}

TEST_F(SnapshotList, AWorkerThatFailsIsAFailure) {
  scratch_.script("fathom-worker", "exit 5\n");
  server("");
  EXPECT_EQ(run({"--server"}), ExitCode::kLocalFailure);
  here("no list");
  EXPECT_EQ(run({"--server"}), ExitCode::kLocalFailure);
}

}  // namespace
}  // namespace fathom::cli
