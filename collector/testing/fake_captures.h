// FakeCaptures: MemoryCaptures that can be slow, and that fail as a test tells them.
//
// Header-only, because tests and the fuzz target share it. Thread safety: all of it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/metrics.h"
#include "store/model/memory_captures.h"

namespace fathom::collector::testing {

class FakeCaptures : public store::MemoryCaptures {
 public:
  using MemoryCaptures::MemoryCaptures;
  enum class Step { kBegin, kAppend, kFinish, kPutSkipped };

  // The next time that this is done it fails so.
  void fail(Step step, Error error) {
    std::lock_guard lock(mutex_);
    faults_[step] = std::move(error);
  }
  // Until release(), whoever calls waits.
  void hold() {
    std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release() {
    {
      std::lock_guard lock(mutex_);
      held_ = false;
    }
    changed_.notify_all();
  }

  Result<std::unique_ptr<store::CaptureWriter>> begin(const store::CaptureInfo& info) override {
    if (std::optional<Error> fault = pass(Step::kBegin)) return *fault;
    Result<std::unique_ptr<store::CaptureWriter>> writer = MemoryCaptures::begin(info);
    if (!writer) return writer.error();
    return std::unique_ptr<store::CaptureWriter>(std::make_unique<Writer>(*this, *std::move(writer)));
  }
  Result<> put_skipped(const std::vector<store::SkippedCapture>& skipped) override {
    if (std::optional<Error> fault = pass(Step::kPutSkipped)) return *fault;
    return MemoryCaptures::put_skipped(skipped);
  }

 private:
  class Writer : public store::CaptureWriter {
   public:
    Writer(FakeCaptures& captures, std::unique_ptr<store::CaptureWriter> writer)
        : captures_(captures), writer_(std::move(writer)) {}
    bool is_stored_already() const override { return writer_->is_stored_already(); }
    uint64_t size_bytes() const override { return writer_->size_bytes(); }
    Result<> append(uint64_t offset, std::string_view bytes) override {
      if (std::optional<Error> fault = captures_.pass(Step::kAppend)) return *fault;
      return writer_->append(offset, bytes);
    }
    store::AppendResult finish() override {
      std::optional<Error> fault = captures_.pass(Step::kFinish);
      if (!fault) return writer_->finish();
      bool again = fault->code == ErrorCode::kUnavailable;
      return {again ? store::AppendOutcome::kRetryable : store::AppendOutcome::kRejected, fault->message, false};
    }

   private:
    FakeCaptures& captures_;
    const std::unique_ptr<store::CaptureWriter> writer_;
  };

  std::optional<Error> pass(Step step) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !held_; });
    auto found = faults_.find(step);
    if (found == faults_.end()) return std::nullopt;
    return faults_.extract(found).mapped();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::map<Step, Error> faults_;
};

// Waits until every part that an intake took is written: its threads then give the memory back. False: it takes too
// long.
inline bool wait_for_free_memory() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (gauge("fathom_capture_budget_used_bytes", "").value() != 0) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace fathom::collector::testing
