// HeldTraces: makes captures of traces that another process, here or on another node, may soon request, and keeps them
// in memory until then.
//
// Purpose: whether a request is among the slowest of its minute is known only when the minute is over. By then the
// recorders of the other processes of its trace have overwritten it. So captures of these are made at once. If the
// request is chosen, its trace is requested, and the held captures are sent. Thread safety: none, belongs to the
// agent's loop; the worker makes the captures. Ownership: `admission` outlives it. Bounds: ProvisionalOptions has the
// rate, and the bytes of contents: beyond them, the oldest of the user with the most bytes is dropped; kMost in all;
// kLongestNano each. If the worker is busy, jobs wait for it, at most kPatienceNano, because recorders hold events for
// longer. Errors: what is not held is counted as skipped, and remembered. It is reported only when its trace is
// requested, because most held traces never are. Beyond kMostRefused, the oldest are forgotten, and counted as dropped
// reports. Units: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "node-agent/triggers/capture_admission.h"
#include "node-agent/triggers/captured_windows.h"
#include "node-agent/triggers/made_content.h"

namespace fathom::agent {

class HeldTraces {
 public:
  using ContentPtr = std::shared_ptr<const MadeContent>;
  static constexpr uint64_t kLongestNano = kNanosPerHour + 5 * kNanosPerMinute;
  static constexpr size_t kMost = 1024;
  static constexpr size_t kMostRefused = 2048;
  static constexpr uint64_t kPatienceNano = 5 * kNanosPerSecond;

  struct Taken {
    std::vector<ContentPtr> contents;
    std::vector<ProgramWindow> windows;  // also of captures that are still being made
  };

  // `not_made`: of windows that take() returned.
  HeldTraces(const ProvisionalOptions& options, CaptureAdmission& admission, NotMade not_made)
      : options_(options),
        admission_(admission),
        not_made_(std::move(not_made)),
        rate_(options.holds.per_second, options.holds.burst) {}

  // False: there are too many, or the window is held already; the latter is then held for longer.
  bool hold(const std::shared_ptr<const WatchedProgram>& program, const TraceId& trace_id, const TimeWindow& window,
            uint64_t hold_nano, uint64_t now_nano);
  // Holds a capture that was made and kept for another purpose until now.
  void adopt(const TraceId& trace_id, const MadeContent& content, uint64_t until_nano);
  // The trace is requested: returns what is held of it, and holds it no longer. Captures that are still being made are
  // returned by made(). What was refused is reported.
  Taken take(const TraceId& trace_id);
  // For a job of this owner. Null: the capture is kept. Otherwise its trace was taken meanwhile.
  ContentPtr made(const CaptureJob& job, ReadyCapture capture);
  void skipped(const CaptureJob& job, SkipReason reason);
  void step(uint64_t now_nano);

  uint64_t bytes() const { return pool_.bytes(); }

 private:
  struct Held {
    CaptureId id;  // of its job's subject
    uint32_t program = 0;
    TraceId trace_id;
    TimeWindow window;
    uint64_t until_nano = 0;
    bool is_taken = false;          // the trace was taken while this was being made
    std::optional<CaptureJob> job;  // until the worker accepts it
    uint64_t give_up_nano = 0;      // the worker must have accepted it by then
    ContentPtr content;             // null: not made yet
  };
  using HeldList = std::list<Held>;
  // A capture that is not held; reported if its trace is requested before `until_nano`.
  struct Refused {
    ingest::SkippedCapture report;
    uint64_t until_nano = 0;
  };
  void refuse(ingest::SkippedCapture report, uint64_t until_nano);
  void report_refused(const TraceId& trace_id);
  HeldList::iterator find(const CaptureJob& job);
  // Whether a held capture covers the whole window; if so, it is held until then at least.
  bool prolong(uint32_t program, const TraceId& trace_id, const TimeWindow& window, uint64_t until_nano);
  bool has_room(uint64_t now_nano) { return held_.size() < kMost && rate_.take(now_nano); }
  void submit_waiting(uint64_t now_nano);
  void drop_expired(uint64_t now_nano);
  void keep(HeldList::iterator held, MadeContent content);
  // Drops the oldest capture of the user with the most bytes. False: nothing is held.
  bool drop_oldest();

  const ProvisionalOptions options_;
  CaptureAdmission& admission_;
  const NotMade not_made_;
  TokenBucket rate_;
  ContentPool pool_;
  HeldList held_;                           // oldest first
  size_t waiting_ = 0;                      // of these with a job
  std::deque<Refused> refused_;             // oldest first
  uint64_t next_expiry_nano_ = UINT64_MAX;  // nothing in either list expires before
};

}  // namespace fathom::agent
