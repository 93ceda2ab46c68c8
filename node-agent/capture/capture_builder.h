// CaptureBuilder: what one process on this node did in a window of time, while it is gathered from the sources.
//
// Purpose: each source's slice writes its part (node-agent/sources/source.h); finish() gives the bytes that are sent.
// Events go into the bytes one by one, because somebody waits. Thread safety: none; away from the loop: `times` is a
// copy of the clock's log, slices are copies by nature, nothing is looked up but by `identify`. Ownership: of all that
// is written to it. Units: nanoseconds of CLOCK_MONOTONIC; process and thread ids are the node's. Errors: finish()
// gives kExhausted if there is no memory to compress with; each thing that is missing is a named loss. Hostility: what
// a program wrote is a stranger's; memory is bounded by the slices' sizes and the limits.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "capture/capture.h"
#include "capture/encode.h"
#include "node-agent/capture/thread_table.h"
#include "node-agent/clock/tick_times.h"
#include "node-agent/redaction/redaction.h"

namespace fathom::agent {

struct OpenSpanOfThread {
  uint32_t tid = 0;  // as the program sees it
  uint64_t start_ticks = 0;
  capture::SpanRef span;
  uint8_t kind = 0;  // OTLP's
  std::string name;
};

struct CaptureFacts {
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;
  uint64_t trigger_nano = 0;
  uint32_t pid = 0;
  std::string service;
  std::string reason;  // for people
  bool ended = false;
  std::shared_ptr<const Redaction> redaction = nullptr;  // null: no rules
};

// Beside what the slices were limited to.
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
  std::shared_ptr<const Redaction> redaction = nullptr;  // that was applied to all of it; null: no rules
};

class CaptureBuilder {
 public:
  // `times`: updated after the end of the window, and after the slices were taken. `identify`: mostly LivingThreads;
  // without, threads have the program's numbers. `slice_bytes`: of all slices, to guess the size of the result.
  CaptureBuilder(CaptureFacts facts, const TickTimes& times, ThreadTable::Identify identify = {},
                 const CaptureLimits& limits = {}, uint64_t slice_bytes = 0);

  // ---- for slices
  uint64_t begin_nano() const { return capture_.begin_nano; }
  uint64_t end_nano() const { return capture_.end_nano; }
  uint32_t pid() const { return capture_.pid; }
  const CaptureLimits& limits() const { return limits_; }
  TickTimes& times() { return times_; }
  ThreadTable& threads() { return threads_; }
  // All but the events; a slice adds to it, and changes nothing of another's.
  capture::Capture& capture() { return capture_; }
  // The kind of event that a source defines itself; once per kind. Its index is what Event::tracepoint means.
  uint32_t add_tracepoint(capture::Tracepoint tracepoint);
  // Where one further event of a thread goes: values(), then add(). The thread must be in threads().
  capture::EventColumns& events_of(uint32_t node_tid) { return encoder_.body().events_of(node_tid); }
  capture::BodyEncoder& body() { return encoder_.body(); }
  // The rules for the values of events, which the slice applies; null: none. Names are redacted by the builder.
  const Redaction* redaction() const { return redaction_.get(); }
  void count_loss(std::string name, uint64_t many);
  // Something within the window did not fit.
  void set_truncated() { truncated_ = true; }

  // ---- for the worker that makes the capture
  // `open`: of each thread the outermost first.
  void write_open_spans(std::vector<OpenSpanOfThread> open, pool::Clock clock);
  // Once, at the end.
  Result<MadeCapture> finish();

 private:
  void redact_names();

  CaptureLimits limits_;
  const std::shared_ptr<const Redaction> redaction_;
  TickTimes times_;
  ThreadTable threads_;
  capture::CaptureEncoder encoder_;
  capture::Capture capture_;  // all but the events
  bool truncated_ = false;
};

}  // namespace fathom::agent
