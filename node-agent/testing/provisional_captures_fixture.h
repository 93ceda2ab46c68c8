// ProvisionalCapturesTest: ProvisionalCaptures with a worker, and a time that the test sets. Thread safety: none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "node-agent/testing/capture_worker_fixture.h"
#include "node-agent/triggers/provisional_captures.h"

namespace fathom::agent::testing {

class ProvisionalCapturesTest : public CaptureWorkerTest {
 protected:
  static constexpr uint64_t kOperation = 7;

  ProvisionalCapturesTest() {
    options_.provisional = {.slowest = {.per_minute = 1},
                            .minute_nano = uint64_t{1} << 62,  // so that no minute ends
                            .copy_after_nano = 0,
                            .copy_usual_after_nano = 0,
                            .close_after_nano = 0,
                            .calendar_ahead_nano = [this] { return calendar_ahead_nano_; }};
  }
  void begin() {
    begin_worker();
    provisional_ = std::make_unique<ProvisionalCaptures>(
        options_.provisional, *admission_,
        ProvisionalCaptures::Surroundings{
            .find_program = [](uint32_t serial) { return program_of(serial, user_of(serial)); },
            .announce =
                [this](const CaptureSubject& subject, const ProgramWindow&, uint64_t hold_nano) {
                  announced_.push_back(subject.trace_id.bytes[0]);
                  held_for_nano_ = hold_nano;
                },
            .send =
                [this](const CaptureSubject& subject, const MadeContent& content) {
                  sent_.push_back(subject);
                  contents_.push_back(content.bytes);
                },
            .hand_on = [this](const ProvisionalCaptures::HandedOn& one) { handed_on_.push_back(one); },
            .not_made = [this](const TraceId& trace_id,
                               const ProgramWindow&) { not_made_.push_back(trace_id.bytes[0]); }});
  }
  // Each program belongs to its own user.
  static uid_t user_of(uint32_t serial) { return 1000 + serial; }
  // Sets the program of the following requests.
  void use_program(uint32_t serial) { program_ = program_of(serial, user_of(serial)); }
  void step() { provisional_->step(now_); }
  // Adds a request that ended `ago_nano` ago. Returns whether it was wanted.
  bool add(uint8_t number, uint64_t duration_nano, uint64_t ago_nano = 0, uint64_t operation = kOperation,
           uint64_t threshold_nano = kNever) {
    FinishedSpan span{.trigger = CaptureTrigger::kSlow, .name = "work", .threshold_nano = threshold_nano};
    span.trace_id = trace_of(number);
    span.end_nano = now_ - ago_nano;
    span.start_nano = span.end_nano - duration_nano;
    const bool wanted = provisional_->wants(program_->uid, operation, span.start_nano, span.end_nano);
    EXPECT_EQ(provisional_->add(program_, span, operation), wanted);
    return wanted;
  }
  // Runs until `jobs` jobs are over.
  void work(size_t jobs) {
    for (; jobs > 0; --jobs) {
      step();
      CaptureWorker::Outcome outcome = next_outcome();
      ASSERT_EQ(outcome.job.owner, JobOwner::kProvisionalCaptures);
      for (const CaptureSubject& subject : outcome.job.subjects) copied_.push_back(subject.trace_id.bytes[0]);
      if (outcome.made)
        provisional_->made(outcome.job, *std::move(outcome.made));
      else
        provisional_->skipped(outcome.job, outcome.skipped);
    }
  }
  // Stops the worker: jobs submitted from now on wait until the test counts `may_go_on` down.
  void stop_worker(std::latch& may_go_on) {
    const auto has_stopped = std::make_shared<std::latch>(1);
    worker_->post([has_stopped, &may_go_on] {
      has_stopped->count_down();
      may_go_on.wait();
    });
    has_stopped->wait();
  }
  std::vector<int> numbers_sent() const {
    std::vector<int> numbers;
    for (const CaptureSubject& subject : sent_) numbers.push_back(subject.trace_id.bytes[0]);
    return numbers;
  }

  // Whether the program has a candidate of the trace.
  bool has(uint32_t program, uint8_t number) {
    const std::vector<ProgramWindow> windows = provisional_->hold(trace_of(number), program, 0);
    return std::ranges::find(windows, program, &ProgramWindow::program) != windows.end();
  }

  std::vector<int> not_made_;  // the traces
  uint64_t calendar_ahead_nano_ = 0;
  uint64_t held_for_nano_ = 0;  // of the last announcement
  std::vector<ProvisionalCaptures::HandedOn> handed_on_;
  std::vector<int> copied_;
  std::vector<int> announced_;
  std::vector<CaptureSubject> sent_;
  std::vector<std::shared_ptr<const std::string>> contents_;
  std::shared_ptr<const WatchedProgram> program_ = program_of(1, user_of(1));
  std::unique_ptr<ProvisionalCaptures> provisional_;
};

}  // namespace fathom::agent::testing
