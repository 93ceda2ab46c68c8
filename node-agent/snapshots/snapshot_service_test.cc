#include "node-agent/snapshots/snapshot_service.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <string>

#include "base/time.h"
#include "node-agent/snapshots/snapshot_metrics.h"

namespace fathom::agent {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

// What was asked of a recorder, as words; take() waits until it may.
class Log {
 public:
  void add(std::string word) {
    std::lock_guard lock(mutex_);
    words_.push_back(std::move(word));
    changed_.notify_all();
  }
  bool until(const std::string& word, size_t times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience,
                             [&] { return std::ranges::count(words_, word) >= static_cast<long>(times); });
  }
  std::vector<std::string> words() {
    std::lock_guard lock(mutex_);
    return words_;
  }
  void hold() {
    std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release() {
    std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  void wait_for_release() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !held_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> words_;
  bool held_ = false;
};

class FakeRecorder final : public FlowRecorder {
 public:
  FakeRecorder(Log& log, int symbol) : log_(log), symbol_(symbol) {}

  void stop(const SnapshotAsk& ask) override { log_.add("stop " + std::string(ask.reason)); }
  std::vector<pollfd> events() override { return {{symbol_, POLLIN, 0}}; }
  std::optional<SnapshotAsk> reached() override {
    uint64_t fired = 0;
    if (::read(symbol_, &fired, sizeof fired) != sizeof fired) return std::nullopt;
    return SnapshotAsk{.reason = "symbol", .trace_id = {}, .span_id = {}, .pid = 7, .tid = 8};
  }
  void listen_again() override { log_.add("listen"); }
  std::vector<pollfd> drain_events() override { return {}; }
  void drain() override { log_.add("drain"); }
  bool knows_user(const SnapshotAsk& ask) override { return ask.pid != 14; }
  void resume() override { log_.add("resume"); }
  Result<CutSnapshot> take(const SnapshotAsk& ask) override {
    log_.add("taking " + std::string(ask.reason));
    log_.wait_for_release();
    if (ask.pid == 13) return internal("the disk is full");
    log_.add("take " + std::string(ask.reason));
    EXPECT_NE(ask.at_nano, 0u);
    CutSnapshot cut;
    cut.packet_bytes = 100;
    return cut;
  }
  bool program_runs(int32_t pid) override {
    log_.add("program " + std::to_string(pid));
    return true;
  }

 private:
  Log& log_;
  const int symbol_;
};

class SnapshotServiceTest : public testing::Test {
 protected:
  SnapshotServiceTest() : symbol_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  void start(RateLimit rate = {0, 100}) {
    SnapshotServiceOptions options;
    options.rate = rate;
    options.symbol_pause_nano = 1'000'000;
    options.cut = [this](const CutSnapshot&) { log_.add("cut"); };
    service_ = std::make_unique<SnapshotService>(options, std::make_unique<FakeRecorder>(log_, symbol_.get()));
  }
  void ring(std::string_view reason, int32_t pid = 1) {
    service_->ring({.reason = reason, .trace_id = {}, .span_id = {}, .pid = pid});
  }
  void reach_symbol() {
    const uint64_t one = 1;
    ASSERT_EQ(::write(symbol_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  static uint64_t skipped(std::string_view trigger, SnapshotSkip reason) {
    return counter("fathom_agent_snapshots_skipped_total", "",
                   label("trigger", trigger) + "," + label("reason", name_of(reason)))
        .value();
  }
  // Of the words that are not about time.
  std::vector<std::string> words() {
    std::vector<std::string> all = log_.words();
    std::erase_if(all, [](const std::string& word) { return word == "drain" || word == "listen"; });
    return all;
  }

  Fd symbol_;
  Log log_;
  std::unique_ptr<SnapshotService> service_;
};

TEST_F(SnapshotServiceTest, StopsThenTakesThenTells) {
  start();
  ring("overdue");
  ASSERT_TRUE(log_.until("cut"));
  EXPECT_EQ(words(), (std::vector<std::string>{"stop overdue", "taking overdue", "take overdue", "cut"}));
  ASSERT_TRUE(log_.until("listen"));
  ASSERT_TRUE(log_.until("drain")) << "and goes on";
}

TEST_F(SnapshotServiceTest, TheRingsStopWhileWhatWasCutBeforeIsNotSentYet) {
  start();
  for (size_t i = 1; i <= 3; ++i) {
    ring("slow");
    ASSERT_TRUE(log_.until("cut", i));
    ASSERT_TRUE(log_.until("listen", i));
  }
}

TEST_F(SnapshotServiceTest, WhoRingsMeanwhileIsCountedAndOnePersonWaits) {
  start();
  log_.hold();
  ring("overdue");
  ASSERT_TRUE(log_.until("taking overdue"));
  const uint64_t busy = skipped("slow", SnapshotSkip::kBusy);
  const uint64_t people = skipped("requested", SnapshotSkip::kBusy);
  ring("slow");
  ring("requested");
  ring("requested");
  EXPECT_EQ(skipped("slow", SnapshotSkip::kBusy), busy + 1);
  EXPECT_EQ(skipped("requested", SnapshotSkip::kBusy), people + 1);
  log_.release();
  ASSERT_TRUE(log_.until("cut", 2));
  EXPECT_EQ(words(), (std::vector<std::string>{"stop overdue", "taking overdue", "take overdue", "cut",
                                               "stop requested", "taking requested", "take requested", "cut"}));
}

TEST_F(SnapshotServiceTest, BeyondTheRateIsCountedButForPeople) {
  start({0, 1});
  ring("overdue");
  ASSERT_TRUE(log_.until("cut"));
  ASSERT_TRUE(log_.until("listen"));
  const uint64_t before = skipped("overdue", SnapshotSkip::kRate);
  ring("overdue");
  EXPECT_EQ(skipped("overdue", SnapshotSkip::kRate), before + 1);
  ring("requested");
  ASSERT_TRUE(log_.until("cut", 2));
}

TEST_F(SnapshotServiceTest, OfAnUnknownUserNothingIsCutAndRecordingGoesOn) {
  start();
  const uint64_t before = skipped("error", SnapshotSkip::kUnknownUser);
  ring("error", 14);
  ASSERT_TRUE(log_.until("listen"));
  EXPECT_EQ(words(), (std::vector<std::string>{"stop error", "resume"}));
  EXPECT_EQ(skipped("error", SnapshotSkip::kUnknownUser), before + 1);
  ring("error");
  ASSERT_TRUE(log_.until("cut"));
}

TEST_F(SnapshotServiceTest, WhatFailsIsCountedAndRecordingGoesOn) {
  start();
  const uint64_t before = skipped("error", SnapshotSkip::kFailed);
  ring("error", 13);
  ASSERT_TRUE(log_.until("listen"));
  EXPECT_EQ(skipped("error", SnapshotSkip::kFailed), before + 1);
  ring("error");
  ASSERT_TRUE(log_.until("cut"));
}

TEST_F(SnapshotServiceTest, ASymbolThatIsReachedStopsTheRings) {
  start({0, 1});
  reach_symbol();
  ASSERT_TRUE(log_.until("cut"));
  EXPECT_EQ(words()[0], "stop symbol");
  ASSERT_TRUE(log_.until("listen"));
  // Beyond the rate it is waited for again, after a while.
  const uint64_t before = skipped("symbol", SnapshotSkip::kRate);
  reach_symbol();
  ASSERT_TRUE(log_.until("listen", 2));
  EXPECT_EQ(skipped("symbol", SnapshotSkip::kRate), before + 1);
}

TEST_F(SnapshotServiceTest, ProgramsAreLookedAtOnce) {
  start();
  auto program = std::make_shared<WatchedProgram>();
  program->serial = 5;
  program->process.pid = 42;
  service_->program_runs(program);
  service_->program_runs(program);
  auto other = std::make_shared<WatchedProgram>(*program);
  other->process.pid = 43;  // exec() by another name
  service_->program_runs(other);
  ASSERT_TRUE(log_.until("program 43"));
  const std::vector<std::string> all = words();
  EXPECT_EQ(std::ranges::count(all, "program 42"), 1);
  service_->program_ended(*other);
}

TEST_F(SnapshotServiceTest, ItsEndFinishesWhatIsStopped) {
  start();
  log_.hold();
  ring("crash");
  ASSERT_TRUE(log_.until("taking crash"));
  std::thread releases([this] { log_.release(); });
  service_.reset();
  releases.join();
  EXPECT_EQ(words().back(), "cut");
}

TEST(DeafBellTest, CountsWhatIsNotCut) {
  Counter& skipped = counter("fathom_agent_snapshots_skipped_total", "", "trigger=\"slow\",reason=\"unavailable\"");
  const uint64_t before = skipped.value();
  DeafBell().ring({.reason = "slow", .trace_id = {}, .span_id = {}});
  EXPECT_EQ(skipped.value(), before + 1);
}

}  // namespace
}  // namespace fathom::agent
