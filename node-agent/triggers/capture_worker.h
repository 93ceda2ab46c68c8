// CaptureWorker: the thread that makes captures: it waits for their windows, takes slices of the sources, encodes.
//
// Purpose: making captures must not delay the agent's loop or the watch. One capture is made at a time. The number of
// waiting jobs and the bytes of their slices are bounded. Thread safety: all of it; `done` is called on the worker's
// thread. Ownership: what it refers to must outlive it. Errors: submit() returns the reason; a capture without any data
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
  size_t most_waiting = 32;  // for windows that end in the future; not counted in most_jobs
};

struct ReadyCapture {
  MadeCapture made;
  Sha256 hash;  // of its content
  uint64_t start_unix_nano = 0;
  uint64_t end_unix_nano = 0;
  LocalInstant instant = {};  // CaptureOutbox::mark() when the capture was made
};

class CaptureWorker {
 public:
  // `job` has all slices, and `open`.
  using Encode = std::function<Result<MadeCapture>(const CaptureJob& job, const TickTimes& times)>;
  struct Outcome {
    CaptureJob job;  // without slices
    std::optional<ReadyCapture> made;
    SkipReason skipped{};  // if it was not made
  };
  using Done = std::function<void(Outcome)>;

  CaptureWorker(const CaptureWorkerOptions& options, SharedTimes& times, const Sources& sources, Encode encode,
                Done done);
  ~CaptureWorker();  // drops waiting jobs

  // No value: the job is queued. Otherwise the caller keeps it, without slices.
  std::optional<SkipReason> submit(CaptureJob& job);
  // Copies, on the caller's thread, the slices that would soon be overwritten into the job, which is submitted next.
  // False: one of them is taken later, because there is no room now, or nothing was recorded yet.
  bool copy_now(CaptureJob& job);
  // New facts about a program. Jobs that wait for its first data stop waiting if it has come.
  void changed(const std::shared_ptr<const WatchedProgram>& program);
  // Applies the settable members of `options` to later copies.
  void set_limits(const CaptureWorkerOptions& options);
  // Runs a short piece of work between two captures.
  void post(std::function<void()> work);

 private:
  void run();
  // Waits for a job whose window is over, or for a piece of work; a second at most.
  void wait(std::unique_lock<std::mutex>& lock);
  // The first job whose window is over; jobs of triggers come before others.
  std::deque<CaptureJob>::iterator ready_job(uint64_t now_nano);
  uint64_t next_ready_nano() const;
  void make(CaptureJob job);
  void try_to_make(Outcome& outcome);
  bool take_slice(CaptureJob& job, size_t place);
  bool take_all(CaptureJob& job);
  bool reserve(uint64_t bytes);
  void give_back(uint64_t bytes);

  CaptureWorkerOptions options_;  // constant, except what set_limits() changes
  SharedTimes& times_;
  const Sources& sources_;
  const Encode encode_;
  const Done done_;
  std::mutex mutex_;  // protects the members below
  std::condition_variable changed_;
  std::deque<CaptureJob> jobs_;
  std::deque<std::function<void()>> works_;
  uint64_t held_bytes_ = 0;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace fathom::agent
