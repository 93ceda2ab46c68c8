// CaptureJob: a capture from its trigger until it is made.
//
// Thread safety: plain values, passed from thread to thread. Ownership: of what was copied. Units: nanoseconds of
// CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node-agent/sources/source.h"
#include "node-agent/triggers/trigger_limits.h"
#include "node-agent/triggers/watched_program.h"

namespace fathom::agent {

// The trace under which the content is sent, and the reason. One content may have several subjects.
struct CaptureSubject {
  CaptureId id;  // of the capture: random
  CaptureTrigger trigger = CaptureTrigger::kRequested;
  TraceId trace_id;
  SpanId span_id;
  std::string operation;
  std::string reason;                                    // for people
  std::shared_ptr<const Redaction> redaction = nullptr;  // applied to operation and reason; null: no rules
  // What it used of the limits, and when: given back if the capture is not made.
  TriggerCause cause;
  uint64_t admitted_nano = 0;
};

struct CaptureRequester;  // waits for the answer (capture_requester.h)

// The part of CaptureService that decides whether a capture is sent after it is made.
enum class JobOwner {
  kTrigger,  // the capture is sent at once
  kProvisionalCaptures,
  kHeldTraces,
};

struct CaptureJob {
  std::vector<CaptureSubject> subjects;  // one at least
  std::shared_ptr<const WatchedProgram> program;
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;            // may lie in the future: the worker then waits for it
  uint64_t trigger_nano = 0;        // when it was triggered, or copy_now() had copied
  uint64_t first_data_by_nano = 0;  // how long to wait for first data (Source::awaits_first_data())
  // kRequest: the sources follow the process for this job, until it is made.
  FollowReason follow_reason = FollowReason::kTraced;
  // One per source, in the order of the sources; null, or missing at the end: not taken yet.
  std::vector<std::unique_ptr<Slice>> slices;
  std::optional<std::vector<ThreadSpan>> open;  // no value: not copied yet
  std::shared_ptr<CaptureRequester> requester;  // belongs to the loop
  JobOwner owner = JobOwner::kTrigger;
};

inline uint64_t held_bytes(const std::vector<std::unique_ptr<Slice>>& slices) {
  uint64_t sum = 0;
  for (const auto& slice : slices) sum += slice ? slice->held_bytes() : 0;
  return sum;
}

}  // namespace fathom::agent
