// CaptureIntake: writes captures from agents to the CaptureStore, on threads that may wait for the disk.
//
// Purpose: gRPC's threads hand over parts and do not wait. Unwritten parts have a memory budget of their own, so that a
// slow disk cannot use up the memory for spans. Thread safety: all of it; for one upload, begin() before take().
// Ownership: the store must outlive it, or stop() must come first; the caller of begin() keeps the upload. Errors:
// reported as progress: RETRY for temporary ones, REFUSED for what the store rejects.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/byte_budget.h"
#include "base/metrics.h"
#include "base/time.h"
#include "ingest/agent_messages.h"
#include "store/capture_store.h"

namespace fathom::collector {

struct CaptureIntakeOptions {
  uint64_t budget_bytes = 64ull << 20;  // of parts that are not written yet, over all streams
  uint64_t most_bytes = 64ull << 20;    // of one capture
  uint64_t retry_delay_nano = kNanosPerSecond;
  size_t threads = 2;
  // Limits for reports of skipped captures: the rate of one stream, and the longest delay while uploads are ready.
  double skipped_per_s = 50;
  double skipped_burst = 1000;
  uint64_t skipped_wait_nano = kNanosPerSecond;
};

// Counts dropped reports of skipped captures. Reasons: rate (of a stream), queue.
Counter& lost_skipped_captures(std::string_view reason);

class CaptureIntake {
 public:
  class Upload;
  // Called on a thread of the intake, without its lock: TAKEN as bytes are written, then one of the others, the last.
  using Tell = std::function<void(const ingest::CaptureProgress&)>;

  CaptureIntake(CaptureIntakeOptions options, store::CaptureStore& store);
  ~CaptureIntake();  // stop()

  const CaptureIntakeOptions& options() const { return options_; }

  // `info` has the size, which must not be zero. With `content_is_stored`, no parts follow. If the store then lacks a
  // content with this hash, the answer is RETRY.
  std::shared_ptr<Upload> begin(store::CaptureInfo info, bool content_is_stored, Tell tell);
  // The next bytes. False: there is no memory for them, and nothing happened.
  [[nodiscard]] bool take(const std::shared_ptr<Upload>& upload, std::string_view content);
  // Abandons an incomplete upload. Progress is not reported any more, except by a call under way.
  void abandon(const std::shared_ptr<Upload>& upload);
  // Stored when no upload is ready, or after skipped_wait_nano. Until then, reports use memory of the budget. They are
  // dropped and counted if the budget is exhausted or kMostSkipped reports are queued.
  void put_skipped(std::vector<store::SkippedCapture> skipped);
  static constexpr size_t kMostSkipped = 2048;
  // Uploads that are not stored are abandoned. Idempotent.
  void stop();

 private:
  struct Part {
    std::string content;
    Reservation memory;
  };

  void run();
  bool are_skipped_due() const;
  void store_skipped(std::unique_lock<std::mutex>& lock);
  void schedule(const std::shared_ptr<Upload>& upload);
  std::vector<Part> next_parts(Upload& upload);
  void work(Upload& upload, const std::vector<Part>& parts);
  void write(Upload& upload, const std::vector<Part>& parts);
  void open(Upload& upload);
  void finish(Upload& upload);
  void end(Upload& upload, const Error& error);
  void end(Upload& upload, ingest::CaptureProgress::State state, std::string message);

  const CaptureIntakeOptions options_;
  store::CaptureStore& store_;
  ByteBudget budget_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<std::shared_ptr<Upload>> ready_;  // uploads with work that no thread handles yet
  std::vector<store::SkippedCapture> skipped_;
  Reservation skipped_memory_ = budget_.open();
  uint64_t skipped_since_nano_ = 0;  // when the oldest queued report arrived
  std::vector<std::thread> threads_;
};

}  // namespace fathom::collector
