// CaptureAdmission: applies the limits to every trigger, makes its job, and requests a snapshot of control flow.
//
// Purpose: the triggers (overdue_trigger.h, finished_trigger.h, crash_trigger.h, capture_requests.h) decide what to
// capture; this decides whether it may be captured. Thread safety: all of it. Ownership: what it refers to must outlive
// it. Errors: skipped captures are counted by trigger and reason in fathom_agent_captures_skipped_total, and their
// traces are noted for the collector (skipped_traces.h). Units: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "node-agent/triggers/capture_service_options.h"
#include "node-agent/triggers/captured_traces.h"
#include "node-agent/triggers/skipped_traces.h"

namespace fathom::agent {

struct MadeContent;  // made_content.h

// For triggers that concern the duration of an operation.
struct Slowness {
  uint64_t operation = 0;  // operation_hash()
  uint64_t duration_nano = 0;
  bool goes_on = false;
};

class CaptureAdmission {
 public:
  using ProgramPtr = std::shared_ptr<const WatchedProgram>;

  CaptureAdmission(const CaptureServiceOptions& options, const Sources& sources, CaptureWorker& worker)
      : options_(options), sources_(sources), worker_(worker), limits_(options.limits) {}

  CaptureJob job_of(const ProgramPtr& program, uint64_t begin_nano, uint64_t end_nano) const;
  // Adds the subject to the job. False: it may not be captured; that is counted and noted.
  bool admit(CaptureJob& job, CaptureSubject subject, const Slowness& slowness = {});
  // Requests a snapshot. To be called first, because the processor's rings are overwritten within milliseconds.
  void ring(const CaptureJob& job, uint32_t tid, uint64_t begin_nano, uint64_t at_nano = 0);
  // Copies what is overwritten soon. False: some of it is copied only when the capture is made.
  bool copy_now(CaptureJob& job);
  // False: skipped, counted and noted.
  bool submit(CaptureJob job);
  // False: the worker is busy; nothing is counted, and the job may be submitted again.
  bool try_submit(CaptureJob& job);
  // An admitted job is not captured after all: its traces no longer count as captured.
  void skip(const CaptureJob& job, SkipReason reason);
  // For a subject that admit() did not admit: counts the skipped capture, and notes its trace.
  void note_skipped(const CaptureSubject& subject, const WatchedProgram& program, SkipReason reason);
  void note_skipped(const CaptureSubject& subject, const MadeContent& content, SkipReason reason);

  SkippedTraces& skipped_traces() { return skipped_traces_; }
  CapturedTraces& captured() { return captured_; }
  const CaptureServiceOptions& options() const { return options_; }

 private:
  const CaptureServiceOptions& options_;
  const Sources& sources_;
  CaptureWorker& worker_;
  TriggerLimits limits_;
  CapturedTraces captured_;
  SkippedTraces skipped_traces_;
};

// The report to the collector about a subject that is not captured.
ingest::SkippedCapture skipped_capture(const CaptureSubject& subject, const WatchedProgram& program, SkipReason reason);
ingest::SkippedCapture skipped_capture(const CaptureSubject& subject, const MadeContent& content, SkipReason reason);

// Makes valid UTF-8 of a program's text, which may be anything and may end within a character.
std::string text_of(std::string_view bytes);
// The same of a redacted text; `rules` may be null.
std::string redacted_text_of(std::string_view bytes, const Redaction* rules);
// "checkout took 812 ms, one of the slowest within 1 min"
std::string among_slowest(std::string_view name, uint64_t duration_nano, uint64_t period_nano);
// "checkout took 812 ms, its threshold is 250 ms"
std::string took_too_long(std::string_view name, const char* verb, uint64_t duration_nano, uint64_t threshold_nano);

}  // namespace fathom::agent
