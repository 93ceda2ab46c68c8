// CaptureIntake: captures on their way into the CaptureStore, by threads that may wait for the disk.
//
// Purpose: gRPC's threads hand parts in and go on. Parts that are not written yet take their bytes from a budget of
// their own: a disk that is slow with captures must not take the memory that spans come in by. Thread safety: all of
// it; of one upload, begin(), then take(). Ownership: the store must outlive it, or stop() come first; an upload is
// held by whoever began it. Errors: told as progress: what may pass is RETRY, what the store refuses REFUSED.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_budget.h"
#include "base/time.h"
#include "ingest/agent_messages.h"
#include "store/capture_store.h"

namespace fathom::collector {

struct CaptureIntakeOptions {
  uint64_t budget_bytes = 64ull << 20;  // of parts that are not written yet, over all streams
  uint64_t most_bytes = 64ull << 20;    // of one capture
  uint64_t retry_delay_nano = kNanosPerSecond;
  size_t threads = 2;
};

class CaptureIntake {
 public:
  class Upload;
  // Called on a thread of the intake, without its lock: TAKEN as bytes are written, then one of the others, the last.
  using Tell = std::function<void(const ingest::CaptureProgress&)>;

  CaptureIntake(CaptureIntakeOptions options, store::CaptureStore& store);
  ~CaptureIntake();  // stop()

  const CaptureIntakeOptions& options() const { return options_; }

  // `info` says the size, which is not zero.
  std::shared_ptr<Upload> begin(store::CaptureInfo info, Tell tell);
  // The next bytes. False: there is no memory for them, and nothing happened.
  [[nodiscard]] bool take(const std::shared_ptr<Upload>& upload, std::string_view content);
  // What is not whole by now never will be. No more is told of it but what is being told.
  void abandon(const std::shared_ptr<Upload>& upload);
  // Whatever is not stored is abandoned. Idempotent.
  void stop();

 private:
  struct Part {
    std::string content;
    Reservation memory;
  };

  void run();
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
  std::deque<std::shared_ptr<Upload>> ready_;  // with something to do, and nobody at it
  std::vector<std::thread> threads_;
};

}  // namespace fathom::collector
