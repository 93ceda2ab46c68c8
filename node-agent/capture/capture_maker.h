// make_capture(): what one process did in a window of time, from the agent's flight recorders, as a capture's bytes.
//
// Purpose: joins a snapshot of the program's events, one of the kernel's, and what spans are open. Events go from the
// snapshot into the bytes one by one: somebody waits. Thread safety: a
// pure function of its input, to be called away from the loop: `times` is a copy of the clock's log, snapshots are
// copies by nature, nothing is looked up but by `identify`. Ownership: the result has copies of all. Units: nanoseconds
// of CLOCK_MONOTONIC; process ids are the node's. Errors: kExhausted where there is no memory to compress with; each
// thing that is not there is a named loss.
// Hostility: the snapshot of events and the open spans are a stranger's; memory is bounded by the snapshots' sizes and
// the limits.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "capture/capture.h"
#include "node-agent/capture/thread_table.h"
#include "node-agent/clock/tick_times.h"
#include "node-agent/detail/detail_snapshot.h"
#include "node-agent/kernel/events.h"

namespace fathom::agent {

struct OpenSpanOfThread {
  uint32_t tid = 0;  // as the program sees it
  uint64_t start_ticks = 0;
  capture::SpanRef span;
  uint8_t kind = 0;  // OTLP's
  std::string name;
};

struct CaptureInput {
  explicit CaptureInput(TickTimes its_times) : times(std::move(its_times)) {}

  TickTimes times;  // updated after the end of the window, and after the snapshots
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;
  uint64_t trigger_nano = 0;
  uint32_t pid = 0;
  std::string service;
  std::string reason;  // for people
  bool ended = false;
  const DetailSnapshot* detail = nullptr;  // null: the program has written no event
  const KernelSnapshot* kernel = nullptr;  // null: `kernel_missing` says why
  std::string kernel_missing;
  std::vector<OpenSpanOfThread> open;  // of each thread the outermost first
  pool::Clock open_clock = pool::Clock::kTsc;
  ThreadTable::Identify identify;  // LivingThreads, mostly; none: threads have the program's numbers
};

// Beside what the snapshots were limited to.
struct CaptureLimits {
  size_t most_threads = 16 * 1024;
  size_t most_open_spans = 16 * 1024;
  size_t most_spans_in_sets = 512 * 1024;  // of all sets
};

struct MadeCapture {
  std::string content;     // capture/encode.h
  bool truncated = false;  // beyond the limits: the oldest is missing, and counted
  bool crosses_clock_jump = false;
  std::vector<std::pair<std::string, uint64_t>> losses;  // as the content has them
};

Result<MadeCapture> make_capture(CaptureInput input, const CaptureLimits& limits = {});

// What to ask a DetailReader for. A window in which the counter may have jumped is of all ticks; make_capture() looks
// at the time of each event anyway.
TickWindow tick_window(const TickTimes& times, pool::Clock clock, uint64_t begin_nano, uint64_t end_nano,
                       uint64_t now_nano);

}  // namespace fathom::agent
