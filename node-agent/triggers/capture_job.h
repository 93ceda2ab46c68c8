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

#include "node-agent/clock/tick_times.h"
#include "node-agent/detail/detail_snapshot.h"
#include "node-agent/kernel/events.h"
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

struct CaptureRequester;  // who waits for an answer (capture_service.cc)

struct CaptureJob {
  std::vector<CaptureSubject> subjects;  // one at least
  std::shared_ptr<const WatchedProgram> program;
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;             // may lie ahead: then it is waited for
  uint64_t trigger_nano = 0;         // when it was triggered, and what would not wait had been copied
  uint64_t detail_by_nano = 0;       // until then the program's events may still come: its pool is on its way
  bool wants_kernel_events = false;  // from now on, if they are not recorded anyway
  // What was copied already, because it would not wait.
  std::optional<DetailSnapshot> events;
  std::optional<std::vector<ThreadSpan>> open;
  std::shared_ptr<CaptureRequester> requester;  // of the loop
};

// All that a capture is made of.
struct CaptureMaterial {
  const CaptureJob* job = nullptr;
  const DetailSnapshot* events = nullptr;  // null: none are recorded
  const KernelSnapshot* kernel = nullptr;  // null: none are recorded,
  std::string kernel_missing;              // and why
  const std::vector<ThreadSpan>* open = nullptr;
  TickTimes* times = nullptr;
};

}  // namespace fathom::agent
