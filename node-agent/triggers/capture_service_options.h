// Options of a CaptureService, and of its parts.
//
// Thread safety: plain values, but for `collector_ahead_nano` and `calendar_ahead_nano`, which are called on the
// agent's loop. Ownership: `snapshots` outlives the service.
#pragma once

#include <cstdint>
#include <functional>

#include "base/time.h"
#include "node-agent/snapshots/snapshot_bell.h"
#include "node-agent/triggers/capture_worker.h"
#include "node-agent/triggers/slowest_requests.h"
#include "node-agent/triggers/thresholds.h"
#include "node-agent/triggers/trigger_limits.h"

namespace fathom::agent {

// Of ProvisionalCaptures.
struct ProvisionalOptions {
  SlowestOptions slowest;
  uint64_t minute_nano = kNanosPerMinute;  // how long what is called a minute lasts
  size_t most_candidates = 2'000;
  uint64_t most_bytes = 96 << 20;
  uint64_t most_held_bytes = 32 << 20;  // of HeldTraces
  RateLimit copies{5, 20};
  RateLimit holds{5, 40};
  // From a request's end to its copy. Recorders hold longer, and a slower one may come; it mostly does where a request
  // took less than half of its operation's threshold.
  uint64_t copy_after_nano = 500'000'000;
  uint64_t copy_usual_after_nano = 8'000'000'000;
  // Then its turn must come. By the end of this time a busy node's recorders have overwritten what it did, and a copy
  // would read all that they recorded since.
  uint64_t longest_copy_wait_nano = 20'000'000'000;
  // From a minute's end: requests that began in it, and the worker, get so long.
  uint64_t close_after_nano = 5'000'000'000;
  // Of windows that share one content: the union is not longer, or than its longest window.
  uint64_t longest_shared_nano = 2'000'000'000;
  size_t most_sharing = 32;
  // The calendar's clock minus CLOCK_MONOTONIC, modulo 2^64.
  std::function<uint64_t()> calendar_ahead_nano = [] { return now_unix_nano() - now_monotonic_nano(); };
};

struct CaptureServiceOptions {
  CaptureWorkerOptions worker;
  TriggerLimitOptions limits;
  ProvisionalOptions provisional;
  uint64_t overdue_after_nano = kNever;  // of operations of which nothing is learnt
  uint64_t margin_nano = 10'000'000;     // before a span's start, and behind its end
  uint64_t crash_window_nano = 10'000'000'000;
  uint64_t first_data_nano = 1'000'000'000;      // for the first data of a program to come, when a trigger was sooner
  uint64_t program_window_nano = 5'000'000'000;  // of fathom::trigger() outside of spans
  uint64_t request_window_nano = 5'000'000'000;  // of a request that says none
  uint64_t longest_window_nano = 600'000'000'000;
  size_t most_subjects = 8;  // traces of one capture's content
  size_t most_requested_processes = 32;
  SnapshotBell* snapshots = nullptr;  // rings at what is captured; null: nothing records control flow
  // The collector's clock is so much ahead of ours, as far as is known.
  std::function<int64_t()> collector_ahead_nano;
};

}  // namespace fathom::agent
