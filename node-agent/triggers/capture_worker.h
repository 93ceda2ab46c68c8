// CaptureWorker: the thread that makes captures: waits for their windows, takes slices of the sources, encodes.
//
// Purpose: nothing of this may hold up the agent's loop, nor the watch. One capture is made at a time; a bounded number
// waits, and what their slices hold is bounded in bytes. Thread safety: all of it; `done` is called on the worker's
// thread. Ownership: what it refers to must outlive it. Errors: submit() says why not; a capture that has nothing in it
// is skipped.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/settable.h"
#include "base/sha256.h"
#include "node-agent/clock/shared_times.h"
#include "node-agent/sources/sources.h"
#include "node-agent/triggers/capture_job.h"
#include "node-agent/uplink/clock_offset.h"

namespace fathom::agent {

struct CaptureWorkerOptions {
  Settable<uint64_t> budget_bytes = 16 << 20;  // of one slice
  Settable<uint64_t> most_held_bytes = 96 << 20;
  size_t most_jobs = 16;
  size_t most_waiting = 32;  // for windows that lie ahead, beside those
};

struct ReadyCapture {
  MadeCapture made;
  Sha256 hash;  // of its content
  uint64_t start_unix_nano = 0;
  uint64_t end_unix_nano = 0;
  LocalInstant instant = {};  // when these times were made, as the outbox marked it
};

class CaptureWorker {
 public:
  // `job` has all slices, and `open`.
  using Encode = std::function<Result<MadeCapture>(const CaptureJob& job, const TickTimes& times)>;
  struct Outcome {
    CaptureJob job;  // without slices
    std::optional<ReadyCapture> made;
    SkipReason skipped{};  // where it was not
  };
  using Done = std::function<void(Outcome)>;

  CaptureWorker(const CaptureWorkerOptions& options, SharedTimes& times, const Sources& sources, Encode encode,
                Done done);
  ~CaptureWorker();  // what waits is dropped

  // Nothing: it is taken. Else the job comes back.
  std::optional<SkipReason> submit(CaptureJob& job);
  // On the caller's thread: the slices that must be copied at once, into the job, which is to be submitted next. False:
  // one of them is taken later, because there is no room now, or nothing was recorded yet.
  bool copy_now(CaptureJob& job);
  // What is known of a program is this now: jobs that wait for its first data need not wait any longer.
  void changed(const std::shared_ptr<const WatchedProgram>& program);
  // Takes the settable members of `options`, for copies to come.
  void set_limits(const CaptureWorkerOptions& options);
  // Something short, between two captures.
  void post(std::function<void()> work);

 private:
  void run();
  // The first whose window is over, or a piece of work; waits for it, a second at most.
  void wait(std::unique_lock<std::mutex>& lock);
  // Those of triggers first.
  std::deque<CaptureJob>::iterator ready_job(uint64_t now_nano);
  uint64_t next_ready_nano() const;
  void make(CaptureJob job);
  void try_to_make(Outcome& outcome);
  bool take_slice(CaptureJob& job, size_t place);
  bool take_all(CaptureJob& job);
  bool reserve(uint64_t bytes);
  void give_back(uint64_t bytes);

  CaptureWorkerOptions options_;  // constant but for what set_limits() changes
  SharedTimes& times_;
  const Sources& sources_;
  const Encode encode_;
  const Done done_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<CaptureJob> jobs_;
  std::deque<std::function<void()>> works_;
  uint64_t held_bytes_ = 0;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace fathom::agent
