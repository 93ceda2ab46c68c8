// SnapshotIntake: agents' pieces of snapshots on their way into the SnapshotSink, by threads that may wait for the
// disk.
//
// Purpose: gRPC's threads hand a message in and go on. What is not done yet takes its bytes from a budget of its own,
// so that a disk that is slow with snapshots takes no memory that spans come in by. Thread safety: all of it.
// Ownership: the sink must outlive it, or stop() come first. Errors: words for the agent: what may pass is RETRY.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_budget.h"
#include "base/time.h"
#include "collector/snapshot_sink.h"

namespace fathom::collector {

struct SnapshotIntakeOptions {
  uint64_t budget_bytes = 32ull << 20;
  uint64_t retry_delay_nano = kNanosPerSecond;
  size_t threads = 2;
};

class SnapshotIntake {
 public:
  // Called once, with an encoded reply; on a thread of the intake, or before put() and missing() return.
  using Respond = std::function<void(Result<std::string>)>;

  // No sink: everything is to be tried again later.
  SnapshotIntake(SnapshotIntakeOptions options, SnapshotSink* sink);
  ~SnapshotIntake();  // stop()

  void put(std::string message, Respond respond);
  void missing(std::string message, Respond respond);
  // What waits is answered with RETRY. Idempotent.
  void stop();

 private:
  struct Task {
    std::string message;
    Reservation memory;
    bool is_piece = false;
    Respond respond;
  };

  void add(std::string message, bool is_piece, Respond respond);
  void run();
  void work(Task task);
  Result<std::string> put_now(std::string_view message);
  Result<std::string> missing_now(std::string_view message);
  std::string not_now(bool is_piece, const std::string& why) const;

  const SnapshotIntakeOptions options_;
  SnapshotSink* const sink_;
  ByteBudget budget_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<Task> tasks_;
  std::vector<std::thread> threads_;
};

}  // namespace fathom::collector
