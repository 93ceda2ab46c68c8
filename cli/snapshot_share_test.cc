#include "cli/snapshot_share.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/sha256.h"
#include "base/testing/temp_directory.h"
#include "cli/snapshot_note.h"
#include "cli/testing/fake_context.h"

namespace fathom::cli {
namespace {

const std::string kSnapshotId(32, 'a');

class SnapshotShareHereTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_ + "/snapshots"); }
  void add(const std::string& id, const std::string& content = "content") {
    std::ofstream(directory_ + "/snapshots/" + id + ".snapshot") << content;
  }
  Result<Shared> push(FakeWorld& world, const std::string& id = kSnapshotId) {
    Context context = world.context();
    return push_snapshot(context, api(context), directory_, id);
  }
  static Api api(const Context& context) {
    return Api(context.connect("", 0, {}), std::nullopt, nullptr, context.connect_put("", 0, {}));
  }

  TempDirectory scratch_;
  const std::string directory_ = scratch_.path();
};

TEST_F(SnapshotShareHereTest, IdsAreFoundByTheirBeginning) {
  add(std::string(32, 'a'));
  add(std::string(31, 'a') + "b");
  add("caffee" + std::string(26, '0'));
  add("no-id");
  EXPECT_EQ(*find_here(directory_, "caff"), "caffee" + std::string(26, '0'));
  EXPECT_EQ(*find_here(directory_, kSnapshotId), kSnapshotId);
  EXPECT_EQ(find_here(directory_, "aaaa").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(find_here(directory_, "caf").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(find_here(directory_, "dddd").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(find_here(directory_ + "/nowhere", "last").error().code, ErrorCode::kNotFound);
}

TEST_F(SnapshotShareHereTest, WhatIsPulledDoesNotBecomeTheLastOne) {
  const std::string bytes = "a snapshot's bytes", id = sha256(bytes).hex().substr(0, 32);
  FakeWorld world;
  Context context = world.context();
  const auto pull = [&] {
    world.answer(200, R"({"id":"x","bytes":18,"image_files":[]})");
    world.answer(200, bytes);
    return pull_snapshot(context, api(context), directory_, id);
  };
  auto pulled = pull();
  ASSERT_TRUE(pulled.ok()) << pulled.error().message;
  EXPECT_EQ(*find_here(directory_, "last"), id) << "there is no other";
  add(kSnapshotId);
  const auto yesterday = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24);
  std::filesystem::last_write_time(directory_ + "/snapshots/" + kSnapshotId + ".snapshot", yesterday);
  EXPECT_EQ(*find_here(directory_, "last"), kSnapshotId);
  EXPECT_EQ(*find_here(directory_, id.substr(0, 6)), id);
}

TEST_F(SnapshotShareHereTest, WhatIsNotHereIsLookedForAtTheServer) {
  const std::string rows = R"({"snapshots":[{"id":")" + kSnapshotId + R"("},{"id":")" + std::string(31, 'a') +
                           R"(b"},{"id":"../../../etc"},{"id":"caffee)" + std::string(26, '0') + R"("}]})";
  FakeWorld world;
  world.answer(200, rows);
  Context context = world.context();
  EXPECT_EQ(*find_on_server(api(context), "CAFF"), "caffee" + std::string(26, '0'));
  EXPECT_EQ(*find_on_server(api(context), "last"), kSnapshotId);
  EXPECT_TRUE(world.targets.back().ends_with("?limit=1")) << world.targets.back();
  EXPECT_EQ(find_on_server(api(context), "aaaa").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(find_on_server(api(context), "dddd").error().code, ErrorCode::kNotFound);
  const size_t asked = world.targets.size();
  EXPECT_EQ(find_on_server(api(context), "caf").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(*find_on_server(api(context), std::string(32, 'F')), std::string(32, 'f'));
  EXPECT_EQ(world.targets.size(), asked) << "nobody need be asked";
}

TEST_F(SnapshotShareHereTest, ABeginningThatNothingHereHasGoesToTheServer) {
  FakeWorld world;
  world.answer(200, R"({"snapshots":[{"id":")" + kSnapshotId + R"("}]})");
  world.answer(404, R"({"error":{"code":"not_found","message":"gone"}})");
  Context context = world.context();
  auto found = here_or_pulled(context, directory_, "aaaa", [&]() -> Result<Api> { return api(context); });
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_NE(found.error().message.find("the server has none either"), std::string::npos) << found.error().message;
  ASSERT_EQ(world.targets.size(), 2u);
  EXPECT_EQ(world.targets[1], "/api/v1/snapshots/" + kSnapshotId);
}

TEST_F(SnapshotShareHereTest, AServerThatCannotBeAskedIsSaid) {
  FakeWorld world;
  Context context = world.context();
  auto found = here_or_pulled(context, directory_, "aaaa", [&]() -> Result<Api> { return api(context); });
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_NE(found.error().message.find("no server could be asked for it (--url says where one is)"), std::string::npos)
      << found.error().message;
  EXPECT_EQ(*here_or_pulled(context, directory_, "no id", [&]() -> Result<Api> { return api(context); }), "no id");
}

TEST_F(SnapshotShareHereTest, ABusyServerIsWaitedForAndAWrongOffsetMended) {
  add(kSnapshotId, "0123456789");
  FakeWorld world;
  world.answer(503, R"({"error":{"code":"x","message":"later"}})");
  world.answer(200, R"({"offset":4,"stored":false})");
  world.answer(409, R"({"error":{"code":"conflict","message":"x"},"offset":7})");
  world.answer(200, R"({"offset":10,"stored":true})");
  world.answer(200, R"({"id":"x","image_files":[{"sha256":"../../etc","stored":false}]})");
  auto pushed = push(world);
  ASSERT_TRUE(pushed.ok()) << pushed.error().message;
  EXPECT_EQ(world.put, (std::vector<std::string>{"", "", "456789", "789"}));
  EXPECT_EQ(world.targets[3], "/api/v1/snapshots/" + kSnapshotId + "/bytes?offset=7&total=10");
  EXPECT_EQ(pushed->missing_images, 0u) << "a name that is none is overlooked";
  EXPECT_GT(world.slept_nano, 0u);
}

TEST_F(SnapshotShareHereTest, AServerThatNeverTakesAnythingIsGivenUp) {
  add(kSnapshotId, "0123456789");
  FakeWorld busy;
  busy.answer(503, R"({"error":{"code":"x","message":"the disk is nearly full"}})");
  auto refused = push(busy);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message.find("nearly full"), std::string::npos);
  FakeWorld forgetful;
  forgetful.answer(200, R"({"offset":0,"stored":false})");
  EXPECT_EQ(push(forgetful).error().code, ErrorCode::kUnavailable);
  FakeWorld greedy;
  greedy.answer(200, R"({"offset":11,"stored":false})");
  EXPECT_EQ(push(greedy).error().code, ErrorCode::kInternal);
}

TEST_F(SnapshotShareHereTest, AnAnswerWithoutEndIsNotTaken) {
  FakeWorld world;
  world.answer(200, R"({"id":"x","bytes":3,"image_files":[]})");
  world.answer(200, std::string((4 << 20) + 1, 'x'));
  Context context = world.context();
  EXPECT_EQ(pull_snapshot(context, api(context), directory_, kSnapshotId).error().code, ErrorCode::kCorrupt);
}

TEST(SnapshotNote, IsALineForEachAndHarmless) {
  auto document =
      boost::json::parse(R"({"snapshots":[{"id":"ab12","tid":43,"host":"n1","reason":"overdue","engine":"step",)"
                         R"("slowdown":591057.3,"lock_holder":77},)"
                         R"({"id":"cd34","tid":-1,"host":"","reason":"\u001b[31m","engine":"intel_pt"},)"
                         R"({"id":"ef56","tid":-1,"host":"","reason":"slow","engine":"stand_in"}]})");
  const std::string note = snapshots_note(document);
  EXPECT_TRUE(note.starts_with(
      "\nsnapshot ab12 of thread 43 on n1 (overdue, stepped, 591,000 times slower): fathom snapshot calls ab12 "
      "--tid 77   # who held the lock\n"))
      << note;
  EXPECT_NE(note.find("snapshot cd34 ("), std::string::npos) << note;
  EXPECT_NE(note.find("snapshot ef56 (slow, by a stand-in: nothing was recorded)"), std::string::npos) << note;
  EXPECT_EQ(note.find('\x1b'), std::string::npos);
  EXPECT_EQ(snapshots_note(boost::json::parse("{}")), "");
}

TEST(SnapshotNote, LeadsToTheEndOfAChainOfHolders) {
  const auto note_of = [](const std::string& locks) {
    return snapshots_note(boost::json::parse(R"({"snapshots":[{"id":"ab12","tid":43,)" + locks + "}]}"));
  };
  EXPECT_TRUE(note_of(R"("lock_holder":77,"blocking_thread":80)")
                  .ends_with(" --tid 80   # whom thread 77, which held the lock, waited for\n"));
  EXPECT_TRUE(note_of(R"("lock_holder":77,"blocking_thread":77)").ends_with(" --tid 77   # who held the lock\n"));
}

TEST(SnapshotNote, SaysWhatSingleStepsHeld) {
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
  FakeWorld world;
  world.answer(200, R"({"trace_id":")" + id +
                        R"(","spans":[],"stepped":[{"snapshot_id":"ab12cd34ef","host":"n\u001b1",)"
                        R"("pid":42,"start_time_unix_nano":"5","duration_nano":812000000}]})");
  EXPECT_EQ(world.run({"trace", id}), ExitCode::kOk);
  EXPECT_NE(world.out.find("\nstepped: 'fathom record' held pid 42 of n"), std::string::npos) << world.out;
  EXPECT_NE(world.out.find("1 for 812 ms meanwhile (snapshot ab12cd34)"), std::string::npos) << world.out;
  EXPECT_NE(world.out.find("fathom slowest --no-stepped\n"), std::string::npos) << world.out;
  EXPECT_EQ(world.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(stepped_note(boost::json::parse("{}")), "");
}

TEST(SnapshotNote, StandsUnderTracesAndTimelines) {
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
  FakeWorld world;
  world.answer(200, R"({"trace_id":")" + id + R"(","spans":[],"processes":[],"snapshots":[{"id":"ab12","tid":7}]})");
  for (const char* command : {"trace", "timeline"}) {
    world.out.clear();
    EXPECT_EQ(world.run({command, id}), ExitCode::kOk);
    EXPECT_NE(world.out.find("\nsnapshot ab12 of thread 7: fathom snapshot calls ab12\n"), std::string::npos)
        << world.out;
  }
}

}  // namespace
}  // namespace fathom::cli
