// Triggers from end to end, but for the way to the server: real programs, the agent, its captures.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>

#include "node-agent/testing/agent_fixture.h"
#include "node-agent/testing/fake_capture_outbox.h"
#include "node-agent/testing/usual_sources.h"
#include "node-agent/triggers/capture_service.h"
#include "node-agent/triggers/encode_capture.h"

namespace fathom::agent {
namespace {

const std::string kHolder = FATHOM_PROGRAMS "/span_holder";
constexpr uint64_t kMilli = 1'000'000;

// A program of ours, whose output is read.
class Holder {
 public:
  Holder(const std::string& socket, std::vector<std::string> words) {
    Result<Pipe> pipe = make_pipe();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(pipe->write.get(), STDOUT_FILENO);
      ::setenv("FATHOM_AGENT_SOCKET", socket.c_str(), 1);
      std::vector<char*> arguments{const_cast<char*>(kHolder.c_str())};
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      ::execv(kHolder.c_str(), arguments.data());
      ::_exit(127);
    }
    output_ = std::move(pipe->read);
    ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  }
  ~Holder() { kill(); }

  pid_t pid() const { return pid_; }
  // The number of the last tick that is surely written.
  uint64_t last_tick() {
    char text[4096];
    for (ssize_t size; (size = ::read(output_.get(), text, sizeof text)) > 0;)
      said_.append(text, static_cast<size_t>(size));
    size_t end = said_.rfind('\n');
    if (end == std::string::npos || end == 0) return 0;
    size_t begin = said_.rfind('\n', end - 1);
    return std::strtoull(said_.c_str() + (begin == std::string::npos ? 0 : begin + 1), nullptr, 10);
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_;
  Fd output_;
  std::string said_;
};

class TriggersTest : public testing::AgentTest {
 protected:
  ~TriggersTest() override {
    agent_.reset();
    service_.reset();
  }
  void begin(uint64_t overdue_after_nano) {
    CaptureServiceOptions options;
    options.overdue_after_nano = overdue_after_nano;
    service_ = std::make_unique<CaptureService>(loop_, options, host_clock_, sources_, encode_capture, captures_);
    options_.observer = service_.get();
    options_.drain.finished_spans = &service_->finished_spans();
    agent_ = std::make_unique<Agent>(loop_, options_, host_clock_, no_store_, outbox_);
    ASSERT_TRUE(agent_->start({}).ok());
  }
  const OutgoingCapture* find(CaptureTrigger trigger) const {
    auto at = std::find_if(captures_.captures.begin(), captures_.captures.end(),
                           [&](const OutgoingCapture& capture) { return capture.begin.trigger == trigger; });
    return at == captures_.captures.end() ? nullptr : &*at;
  }
  bool until_capture(CaptureTrigger trigger) {
    return until([&] { return find(trigger) != nullptr; });
  }
  std::vector<uint64_t> ticks(CaptureTrigger trigger) const {
    std::vector<uint64_t> numbers;
    capture::Capture content = captures_.content(static_cast<size_t>(find(trigger) - captures_.captures.data()));
    for (const capture::Thread& thread : content.threads) {
      for (const capture::Value& value : thread.values) numbers.push_back(value.natural());
    }
    return numbers;
  }

  HostClock host_clock_;
  testing::FakeCaptureOutbox captures_;
  const Sources sources_ = testing::usual_sources();
  std::unique_ptr<CaptureService> service_;
};

TEST_F(TriggersTest, AnOverdueSpanIsCapturedWhileItRuns) {
  // Events come some hundred milliseconds after the program: its helper hands their pool over.
  begin(1500 * kMilli);
  // It lasts for longer than any patience: what is captured is captured while it runs.
  Holder holder(options_.listener.path, {"--for", "600000"});
  ASSERT_TRUE(until_capture(CaptureTrigger::kOverdue));
  const OutgoingCapture& capture = *find(CaptureTrigger::kOverdue);
  EXPECT_EQ(capture.begin.operation, "hold");
  EXPECT_EQ(capture.begin.pid, static_cast<uint32_t>(holder.pid()));
  capture::Capture content = captures_.content(0);
  ASSERT_EQ(content.threads.size(), 1u);
  ASSERT_EQ(content.threads[0].open.size(), 1u);
  const capture::OpenSpan& span = content.threads[0].open[0];
  EXPECT_EQ(span.name, "hold");
  EXPECT_EQ(span.span.trace_id, capture.begin.trace_id);
  EXPECT_GE(content.end_nano, span.start_nano + 1500 * kMilli);
  std::printf("seen %.3f ms after it was due\n",
              static_cast<double>(content.end_nano - span.start_nano - 1500 * kMilli) / 1e6);
  EXPECT_FALSE(content.threads[0].events.empty());
}

TEST_F(TriggersTest, WhatAKilledProgramDidLastIsCaptured) {
  begin(kNever);
  Holder holder(options_.listener.path, {"--for", "600000"});
  ASSERT_TRUE(until([&] { return holder.last_tick() >= 60 && !agent_->details().empty(); }));
  holder.kill();
  uint64_t last = holder.last_tick();
  ASSERT_TRUE(until_capture(CaptureTrigger::kCrash));
  EXPECT_FALSE(find(CaptureTrigger::kCrash)->begin.trace_id.is_zero());
  EXPECT_EQ(find(CaptureTrigger::kCrash)->begin.operation, "hold");
  std::vector<uint64_t> numbers = ticks(CaptureTrigger::kCrash);
  ASSERT_FALSE(numbers.empty());
  EXPECT_GE(numbers.back(), last);
  for (uint64_t number = 1; number <= last; ++number) ASSERT_EQ(numbers[number - 1], number);
}

}  // namespace
}  // namespace fathom::agent
