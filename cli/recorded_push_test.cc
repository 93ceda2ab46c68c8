#include "cli/recorded_push.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "cli/testing/fake_context.h"
#include "cli/testing/scratch.h"

namespace fathom::cli {
namespace {

class RecordedPushTest : public testing::Test {
 protected:
  void SetUp() override {
    recorded_ = {scratch_.path(), " --directory /d", std::string(32, 'a'), std::string(32, 'b')};
    std::filesystem::create_directories(scratch_.path() + "/snapshots");
    scratch_.write("snapshots/" + recorded_.id + ".snapshot", "0123456789");
  }
  RecordedPush push(bool wanted = true) {
    const Context context = world_.context();
    const auto connect = [&]() -> Result<Api> {
      return Api(context.connect("", 0, {}), std::nullopt, nullptr, context.connect_put("", 0, {}));
    };
    return push_recorded(context, recorded_, connect, wanted);
  }

  Scratch scratch_;
  FakeWorld world_;
  RecordedSnapshot recorded_;
};

TEST_F(RecordedPushTest, TheServerOfTheRequestGetsItAndTheRequestIsNext) {
  world_.answer(200, R"({"offset":0,"stored":false})");
  world_.answer(200, R"({"offset":10,"stored":true})");
  world_.answer(200, R"({"id":"x","image_files":[]})");
  const RecordedPush done = push();
  EXPECT_TRUE(done.stored) << done.text;
  EXPECT_EQ(done.text, "pushed to the server: 10 B with 0 images; 0 were there already");
  EXPECT_TRUE(done.next.starts_with("fathom trace " + recorded_.trace_id + " ")) << done.next;
  struct sigaction now {};
  ::sigaction(SIGINT, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL) << "as it was before";
}

TEST_F(RecordedPushTest, WhereNobodyAnswersItIsKeptAndTheWayIsTold) {
  world_.answer(Error{ErrorCode::kUnavailable, "no server at 127.0.0.1:7070"});
  const RecordedPush done = push();
  EXPECT_FALSE(done.stored);
  EXPECT_EQ(done.text, "it is kept here alone: no server at 127.0.0.1:7070");
  EXPECT_TRUE(done.next.starts_with("fathom snapshot push aaaaaaaa --directory /d ")) << done.next;
}

TEST_F(RecordedPushTest, WhoWantsItHereAsksNobody) {
  const RecordedPush done = push(false);
  EXPECT_FALSE(done.stored);
  EXPECT_EQ(done.text, "");
  EXPECT_TRUE(done.next.starts_with("fathom snapshot push aaaaaaaa --directory /d ")) << done.next;
  EXPECT_TRUE(world_.targets.empty());
}

}  // namespace
}  // namespace fathom::cli
