// HeldTraces: captures of traces that another process, here or on another node, may want soon, made and kept in memory
// until it says so.
//
// Purpose: a request that may be among the slowest is known where it ends; whether it is, only a minute later. By then
// the recorders of the other processes that it visited have overwritten it, so captures of these are made at once. If
// the request is chosen, its trace is asked for, and what is held is sent. Thread safety: none, belongs to the agent's
// loop; the worker makes the captures. Ownership: `admission` outlives it. Bounds: ProvisionalOptions has the rate, and
// the bytes of contents: beyond them the oldest of the user who has most goes; kMost in all; kLongestNano each. While
// the worker is busy, they wait for it, kPatienceNano at most: recorders hold longer. Errors: what is not held is
// counted as skipped, like other captures, and remembered: it is reported when its trace is asked for, because most
// traces that are held are not. Of kMostRefused, the oldest are forgotten, and counted as reports that are dropped.
// Units: nanoseconds of CLOCK_MONOTONIC.
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
    std::vector<ProgramWindow> windows;  // also of those that are still being made
  };

  HeldTraces(const ProvisionalOptions& options, CaptureAdmission& admission)
      : options_(options), admission_(admission), rate_(options.holds.per_second, options.holds.burst) {}

  // False: there are too many, or the window is held already.
  bool hold(const std::shared_ptr<const WatchedProgram>& program, const TraceId& trace_id, const TimeWindow& window,
            uint64_t hold_nano, uint64_t now_nano);
  // One that is made already, and was kept for another purpose until now.
  void adopt(const TraceId& trace_id, const MadeContent& content, uint64_t until_nano);
  // The trace is asked for: all that is held of it, and is not any more. What is still being made is taken when it is:
  // by made(). What was refused is reported.
  Taken take(const TraceId& trace_id);
  // Of a job of ours. Null: it is kept. Else it was taken meanwhile.
  ContentPtr made(const CaptureJob& job, ReadyCapture capture);
  void skipped(const CaptureJob& job, SkipReason reason);
  void step(uint64_t now_nano);

  uint64_t bytes() const { return pool_.bytes(); }

 private:
  struct Held {
    CaptureId id;  // of its job
    uint32_t program = 0;
    TraceId trace_id;
    TimeWindow window;
    uint64_t until_nano = 0;
    bool is_taken = false;          // while it was being made
    std::optional<CaptureJob> job;  // the worker has not taken it yet
    uint64_t give_up_nano = 0;      // when the worker must have taken it
    ContentPtr content;             // null: it is being made
  };
  using HeldList = std::list<Held>;
  // One that may be asked for, though nothing is held.
  struct Refused {
    ingest::SkippedCapture report;
    uint64_t until_nano = 0;
  };
  void refuse(ingest::SkippedCapture report, uint64_t until_nano);
  void report_refused(const TraceId& trace_id);
  HeldList::iterator find(const CaptureJob& job);
  // Whether one has all of the window; it is held until then.
  bool prolong(uint32_t program, const TraceId& trace_id, const TimeWindow& window, uint64_t until_nano);
  bool has_room(uint64_t now_nano) { return held_.size() < kMost && rate_.take(now_nano); }
  void submit_waiting(uint64_t now_nano);
  void keep(HeldList::iterator held, MadeContent content);
  // Of the user who has most bytes. False: nothing is held.
  bool drop_oldest();

  const ProvisionalOptions options_;
  CaptureAdmission& admission_;
  TokenBucket rate_;
  ContentPool pool_;
  HeldList held_;                // from old to young
  std::deque<Refused> refused_;  // in the order in which they were
};

}  // namespace fathom::agent
