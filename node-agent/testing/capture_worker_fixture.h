// CaptureWorkerTest: a CaptureWorker whose outcomes a test takes one by one. Thread safety: none.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "node-agent/triggers/capture_admission.h"
#include "node-agent/triggers/capture_worker.h"

namespace fathom::agent::testing {

// Claims to have recorded every process, and holds no bytes.
class FakeSource : public Source {
 public:
  std::string_view name() const override { return "fake"; }
  std::vector<Availability> availability() const override { return {}; }
  void follow(const ProcessId&, FollowReason) override {}
  void forget(const ProcessId&, FollowReason) override {}
  std::unique_ptr<Slice> slice(const SliceRequest&) override { return std::make_unique<FakeSlice>(); }

 private:
  struct FakeSlice : Slice {
    bool was_recorded() const override { return true; }
    uint64_t held_bytes() const override { return 0; }
    void write(CaptureBuilder&) override {}
  };
};

inline Sources fake_sources() {
  std::vector<std::unique_ptr<Source>> all;
  all.push_back(std::make_unique<FakeSource>());
  return Sources(std::move(all));
}

class CaptureWorkerTest : public ::testing::Test {
 protected:
  CaptureWorkerTest() { options_.margin_nano = 0; }
  void begin_worker() {
    worker_ = std::make_unique<CaptureWorker>(
        options_.worker, times_, sources_,
        [this](const CaptureJob&, const TickTimes&) -> Result<MadeCapture> {
          if (fails_) return exhausted("no memory");
          return MadeCapture{.content = std::string(content_bytes_, 'c')};
        },
        [this](CaptureWorker::Outcome outcome) {
          std::lock_guard lock(mutex_);
          outcomes_.push_back(std::move(outcome));
          came_.notify_one();
        });
    admission_ = std::make_unique<CaptureAdmission>(options_, sources_, *worker_);
  }
  // Waits for the next outcome.
  CaptureWorker::Outcome next_outcome() {
    std::unique_lock lock(mutex_);
    const bool came = came_.wait_for(lock, std::chrono::seconds(60), [this] { return !outcomes_.empty(); });
    EXPECT_TRUE(came);
    if (!came) return {};
    CaptureWorker::Outcome outcome = std::move(outcomes_.front());
    outcomes_.erase(outcomes_.begin());
    return outcome;
  }
  static std::shared_ptr<const WatchedProgram> program_of(uint32_t serial, uid_t user = 0) {
    auto program = std::make_shared<WatchedProgram>();
    program->serial = serial;
    program->uid = user;
    program->service = "shop";
    return program;
  }
  static TraceId trace_of(uint8_t number) {
    TraceId trace;
    trace.bytes[0] = number;
    return trace;
  }
  // The skipped traces that wait for the collector: their numbers and reasons.
  std::vector<std::pair<int, SkipReason>> skipped() {
    std::vector<std::pair<int, SkipReason>> all;
    admission_->skipped_traces().hand_over([&](const ingest::SkippedCaptures& some) {
      for (const ingest::SkippedCapture& one : some) all.emplace_back(one.trace_id.bytes[0], one.reason);
      return true;
    });
    return all;
  }

  // The test's CLOCK_MONOTONIC: long ago, so that the worker waits for no window.
  uint64_t now_ = 30 * kNanosPerSecond;
  CaptureServiceOptions options_;
  HostClock clock_;
  SharedTimes times_{clock_};
  const Sources sources_ = fake_sources();
  std::atomic<bool> fails_ = false;
  std::atomic<size_t> content_bytes_ = 100;
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<CaptureWorker::Outcome> outcomes_;
  std::unique_ptr<CaptureWorker> worker_;
  std::unique_ptr<CaptureAdmission> admission_;
};

}  // namespace fathom::agent::testing
