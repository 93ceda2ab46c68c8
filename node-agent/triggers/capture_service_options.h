// Options of a CaptureService, and of its parts.
//
// Thread safety: plain values, except `collector_ahead_nano` and `calendar_ahead_nano`, which are called on the agent's
// loop. Ownership: `snapshots` outlives the service.
#pragma once

#include <cstdint>
#include <functional>

#include "base/capture_window.h"
#include "base/slowest_requests.h"
#include "base/time.h"
#include "node-agent/snapshots/snapshot_bell.h"
#include "node-agent/triggers/capture_worker.h"
#include "node-agent/triggers/thresholds.h"
#include "node-agent/triggers/trigger_limits.h"

namespace fathom::agent {

// Options of ProvisionalCaptures and HeldTraces.
struct ProvisionalOptions {
  SlowestOptions slowest;
  uint64_t minute_nano = kNanosPerMinute;  // the length of a minute; tests use others
  size_t most_candidates = 2'000;
  uint64_t most_bytes = 96 << 20;
  uint64_t most_held_bytes = 32 << 20;  // of HeldTraces
  RateLimit copies{5, 20};
  RateLimit holds{5, 40};
  // From a request's end to its copy, in case a slower one takes its place. A slower one usually comes after a request
  // that took less than half of its operation's threshold. Recorders hold events for longer.
  uint64_t copy_after_nano = 500'000'000;
  uint64_t copy_usual_after_nano = 8'000'000'000;
  // The longest wait for a copy, from the request's end. After this time a busy node's recorders have overwritten the
  // request, and a copy would read everything recorded since then.
  uint64_t longest_copy_wait_nano = 20'000'000'000;
  // From the end of a minute until it is closed, so that requests that began in it can end and be captured.
  uint64_t close_after_nano = 5'000'000'000;
  // The longest union of windows that share one content, unless one of the windows is longer by itself.
  uint64_t longest_shared_nano = 2'000'000'000;
  size_t most_sharing = 32;
  // The wall clock minus CLOCK_MONOTONIC, modulo 2^64.
  std::function<uint64_t()> calendar_ahead_nano = [] { return now_unix_nano() - now_monotonic_nano(); };
};

struct CaptureServiceOptions {
  CaptureWorkerOptions worker;
  TriggerLimitOptions limits;
  ProvisionalOptions provisional;
  uint64_t overdue_after_nano = kNever;  // for operations without a learned threshold
  uint64_t margin_nano = 10'000'000;     // before a span's start, and behind its end
  uint64_t crash_window_nano = 10'000'000'000;
  uint64_t first_data_nano = 1'000'000'000;      // how long a trigger waits for a program's first data
  uint64_t program_window_nano = 5'000'000'000;  // of fathom::trigger() outside of spans
  uint64_t request_window_nano = 5'000'000'000;  // of a request without a window
  uint64_t longest_window_nano = kLongestCaptureWindowNano;
  size_t most_subjects = 8;  // traces of one capture's content
  size_t most_requested_processes = 32;
  SnapshotBell* snapshots = nullptr;  // requests snapshots of triggers; null: control flow is not recorded
  // The collector's clock minus this host's, as far as it is known.
  std::function<int64_t()> collector_ahead_nano;
};

}  // namespace fathom::agent
