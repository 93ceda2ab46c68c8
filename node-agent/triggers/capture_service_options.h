// Options of a CaptureService, and of its parts.
//
// Thread safety: plain values, but for `collector_ahead_nano`, which is called on the agent's loop. Ownership:
// `snapshots` outlives the service.
#pragma once

#include <cstdint>
#include <functional>

#include "node-agent/snapshots/snapshot_bell.h"
#include "node-agent/triggers/capture_worker.h"
#include "node-agent/triggers/thresholds.h"
#include "node-agent/triggers/trigger_limits.h"

namespace fathom::agent {

struct CaptureServiceOptions {
  CaptureWorkerOptions worker;
  TriggerLimitOptions limits;
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
