// CaptureJob: a capture on its way from its trigger to the uplink.
//
// Thread safety: plain values, handed from thread to thread. Ownership: of what was copied. Units: nanoseconds of
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

// Under which trace the content is sent, and why. One content may be about several.
struct CaptureSubject {
  CaptureId id;  // of the capture: random
  CaptureTrigger trigger = CaptureTrigger::kRequested;
  TraceId trace_id;
  SpanId span_id;
  std::string operation;
  std::string reason;  // for people
  // What it took of the limits, and when: given back when nothing comes of it.
  TriggerCause cause;
  uint64_t admitted_nano = 0;
};

struct CaptureRequester;  // waits for the answer (capture_requester.h)

// Who decides what becomes of a capture that is made.
enum class JobOwner {
  kTrigger,  // it is sent at once
  kProvisionalCaptures,
  kHeldTraces,
};

struct CaptureJob {
  std::vector<CaptureSubject> subjects;  // one at least
  std::shared_ptr<const WatchedProgram> program;
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;            // may lie ahead: then it is waited for
  uint64_t trigger_nano = 0;        // when it was triggered, and what would not wait had been copied
  uint64_t first_data_by_nano = 0;  // until then the program's first data may come (Source::awaits_first_data())
  // kRequest: the sources follow the process for its sake, until it is made.
  FollowReason follow_reason = FollowReason::kTraced;
  // By the places of the sources; null, or missing at the end: not taken yet.
  std::vector<std::unique_ptr<Slice>> slices;
  std::optional<std::vector<ThreadSpan>> open;  // nothing: not copied yet
  std::shared_ptr<CaptureRequester> requester;  // of the loop
  JobOwner owner = JobOwner::kTrigger;
};

inline uint64_t held_bytes(const std::vector<std::unique_ptr<Slice>>& slices) {
  uint64_t sum = 0;
  for (const auto& slice : slices) sum += slice ? slice->held_bytes() : 0;
  return sum;
}

}  // namespace fathom::agent
