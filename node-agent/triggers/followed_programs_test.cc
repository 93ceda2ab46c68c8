#include "node-agent/triggers/followed_programs.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

#include "node-agent/testing/capture_worker_fixture.h"

namespace fathom::agent {
namespace {

// Notes which processes it is to follow: "+1" and "-1".
class NotingSource : public testing::FakeSource {
 public:
  explicit NotingSource(std::string& notes) : notes_(notes) {}
  void follow(const ProcessId& process, FollowReason) override { notes_ += "+" + std::to_string(process.pid); }
  void forget(const ProcessId& process, FollowReason) override { notes_ += "-" + std::to_string(process.pid); }

 private:
  std::string& notes_;
};

class FollowedProgramsTest : public ::testing::Test {
 protected:
  FollowedProgramsTest() { followed_.step(now_); }
  static std::shared_ptr<const WatchedProgram> program_of(uint32_t serial) {
    auto program = std::make_shared<WatchedProgram>();
    program->serial = serial;
    program->process = {.pid = static_cast<pid_t>(serial), .started_ticks = 1};
    return program;
  }
  static Sources sources_with(std::string& notes) {
    std::vector<std::unique_ptr<Source>> all;
    all.push_back(std::make_unique<NotingSource>(notes));
    return Sources(std::move(all));
  }
  // What the sources were told, when the worker has done all that it was given.
  std::string notes() {
    std::promise<std::string> said;
    worker_.post([&] { said.set_value(notes_); });
    return said.get_future().get();
  }

  uint64_t now_ = 100 * kNanosPerSecond;
  std::string notes_;  // of the worker's thread
  HostClock clock_;
  SharedTimes times_{clock_};
  const Sources sources_ = sources_with(notes_);
  CaptureWorker worker_{{},
                        times_,
                        sources_,
                        [](const CaptureJob&, const TickTimes&) -> Result<MadeCapture> { return MadeCapture{}; },
                        [](const CaptureWorker::Outcome&) {}};
  FollowedPrograms followed_{sources_, worker_};
};

TEST_F(FollowedProgramsTest, AProgramIsFollowedUntilItsLastCapturesAreMade) {
  followed_.changed(program_of(1));
  followed_.changed(program_of(1));
  followed_.gone(*program_of(1));
  followed_.step(now_ + FollowedPrograms::kKeptNano - 1);
  EXPECT_EQ(notes(), "+1");
  followed_.step(now_ + FollowedPrograms::kKeptNano);
  EXPECT_EQ(notes(), "+1-1");
}

TEST_F(FollowedProgramsTest, OfTooManyThatEndedTheOldestIsForgotten) {
  for (uint32_t serial = 1; serial <= FollowedPrograms::kMostEnded + 1; ++serial) {
    followed_.changed(program_of(serial));
    followed_.gone(*program_of(serial));
  }
  EXPECT_TRUE(notes().ends_with("-1"));
}

}  // namespace
}  // namespace fathom::agent
