// Which ends of programs are crashes, and what is captured of them.
#include "node-agent/triggers/crash_trigger.h"

#include <gtest/gtest.h>

#include "base/metrics.h"
#include "node-agent/testing/capture_service_fixture.h"
#include "node-agent/testing/capture_worker_fixture.h"

namespace fathom::agent {
namespace {

using testing::CaptureServiceTest;
using testing::CaptureWorkerTest;
using testing::Sleeper;

// Knows how each process ended, and records nothing.
class ScriptedEnds : public Source {
 public:
  std::string_view name() const override { return "ends"; }
  std::vector<Availability> availability() const override { return {}; }
  void follow(const ProcessId&, FollowReason) override {}
  void forget(const ProcessId&, FollowReason) override {}
  std::unique_ptr<Slice> slice(const SliceRequest&) override { return std::make_unique<EmptySlice>(); }
  std::optional<int> exit_status(const ProcessId&) const override { return status; }
  std::optional<int> status;

 private:
  struct EmptySlice : Slice {
    bool was_recorded() const override { return false; }
    uint64_t held_bytes() const override { return 0; }
    void write(CaptureBuilder&) override {}
  };
};

class CrashTest : public CaptureServiceTest {
 protected:
  CrashTest() : CaptureServiceTest(std::make_unique<ScriptedEnds>()) {}
  void set_status(int status) { static_cast<ScriptedEnds&>(sources_[sources_.size() - 1]).status = status; }
  bool until_ended() {
    return until([&] { return agent_->details().empty() || agent_->details()[0].ended; });
  }
  // As after a restart: so that the program can be another process than ours.
  void begin_with_sleeper() {
    write_event(0, "last words");
    std::vector<InheritedFd> inherited;
    inherited.push_back(kept(pool_, sleeper_.pid()));
    ProgramId id{.uid = ::getuid(), .process = identify_process(sleeper_.pid())};
    Result<DetailFile> file = DetailFile::open(detail_.descriptor(), 0);
    id.key = {file->memory().device(), file->memory().inode()};
    inherited.push_back({id.store_name(ProgramId::kDetail), detail_.descriptor()});
    begin(std::move(inherited));
    ASSERT_TRUE(until([&] { return !agent_->details().empty() && agent_->details()[0].service == "shop"; }));
  }
  Sleeper sleeper_;
};

TEST_F(CrashTest, WhatWasOpenIsCapturedUnderItsTraces) {
  begin_with_sleeper();
  pool_.begin_span(0, 10, "outer", now_monotonic_nano(), 5);
  pool_.begin_span(0, 11, "inner", now_monotonic_nano(), 5);
  pool_.begin_span(1, 90, "other", now_monotonic_nano(), 6);
  pass_ticks(2);
  const Counter& bytes = counter("fathom_agent_capture_bytes_total", "", label("trigger", "crash"));
  const uint64_t before = bytes.value();
  sleeper_.kill();
  ASSERT_TRUE(until_captures(2));
  EXPECT_EQ(bytes.value(), before + captures_.captures[0].content->size()) << "one content";
  EXPECT_EQ(captures_.captures[0].begin.trigger, CaptureTrigger::kCrash);
  EXPECT_EQ(captures_.captures[0].begin.trace_id, trace_of(10));
  EXPECT_EQ(captures_.captures[0].begin.operation, "inner");
  EXPECT_EQ(captures_.captures[1].begin.trace_id, trace_of(90));
  EXPECT_EQ(captures_.captures[0].content, captures_.captures[1].content);
  EXPECT_EQ(captures_.texts(0), (std::vector<std::string>{"last words"}));
  EXPECT_TRUE(captures_.content(0).ended);
}

TEST_F(CrashTest, OutsideOfSpansItIsOfNoTrace) {
  begin_with_sleeper();
  sleeper_.kill();
  ASSERT_TRUE(until_captures(1));
  EXPECT_TRUE(captures_.captures[0].begin.trace_id.is_zero());
}

TEST_F(CrashTest, AnOrderlyEndIsNone) {
  begin_with_sleeper();
  pool_.begin_span(0, 10, "outer", now_monotonic_nano());
  pool_.triggers().ended.store(1);
  sleeper_.kill();
  ASSERT_TRUE(until_ended());
  pass_ticks(5);
  EXPECT_TRUE(captures_.captures.empty());
}

// A child of fork() ends by _exit(0), with the parent's span still open.
TEST_F(CrashTest, AnEndWithStatus0IsNone) {
  set_status(0);
  begin_with_sleeper();
  pool_.begin_span(0, 10, "outer", now_monotonic_nano());
  sleeper_.kill();
  ASSERT_TRUE(until_ended());
  pass_ticks(5);
  EXPECT_TRUE(captures_.captures.empty());
}

TEST_F(CrashTest, AnEndWithAnotherStatusIsOne) {
  set_status(3 << 8);
  begin_with_sleeper();
  sleeper_.kill();
  ASSERT_TRUE(until_captures(1));
  EXPECT_EQ(captures_.captures[0].begin.trigger, CaptureTrigger::kCrash);
}

TEST_F(CrashTest, WhatIsTriggeredJustBeforeTheEndIsCaptured) {
  begin_with_sleeper();
  pass_ticks(2);
  pool_.trigger("last moment", 50, now_monotonic_nano());
  pool_.triggers().ended.store(1);
  sleeper_.kill();
  ASSERT_TRUE(until_captures(1));
  EXPECT_EQ(captures_.captures[0].begin.trigger, CaptureTrigger::kProgram);
  EXPECT_EQ(captures_.content(0).reason, "last moment");
  EXPECT_EQ(captures_.texts(0), (std::vector<std::string>{"last words"}));
}

class CrashLimitTest : public CaptureWorkerTest {
 protected:
  CrashLimitTest() { begin_worker(); }
  void end(uint32_t serial, std::optional<int> status) {
    ends_->status = status;
    CrashTrigger(*admission_, statuses_).crashed(program_of(serial), {});
  }

 private:
  static std::vector<std::unique_ptr<Source>> only(std::unique_ptr<Source> source) {
    std::vector<std::unique_ptr<Source>> all;
    all.push_back(std::move(source));
    return all;
  }
  ScriptedEnds* ends_ = new ScriptedEnds;
  const Sources statuses_{only(std::unique_ptr<Source>(ends_))};
};

TEST_F(CrashLimitTest, EndsWithStatus0LeaveTheLimitToCrashes) {
  constexpr uint32_t kMostCrashes = 5;  // in a second
  for (uint32_t serial = 1; serial <= 200; ++serial) end(serial, 0);
  for (uint32_t serial = 201; serial <= 200 + kMostCrashes; ++serial) end(serial, std::nullopt);
  for (uint32_t serial = 201; serial <= 200 + kMostCrashes; ++serial) {
    const CaptureWorker::Outcome outcome = next_outcome();
    ASSERT_TRUE(outcome.made);
    EXPECT_EQ(outcome.job.program->serial, serial);
    EXPECT_EQ(outcome.job.subjects[0].trigger, CaptureTrigger::kCrash);
  }
}

}  // namespace
}  // namespace fathom::agent
