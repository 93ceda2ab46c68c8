#include "node-agent/triggers/capture_admission.h"

#include <utility>

#include "base/time.h"
#include "base/utf8.h"
#include "capture/shared_reason.h"
#include "node-agent/agent/state_directory.h"
#include "node-agent/triggers/capture_metrics.h"
#include "node-agent/triggers/made_content.h"

namespace fathom::agent {

namespace {

constexpr size_t kMostTextBytes = 1024;

uint64_t operation_of_service(const WatchedProgram& program, uint64_t operation) {
  return operation == 0 ? 0 : operation_key(service_hash(program.service_namespace, program.service), operation);
}

TriggerCause cause_of(const CaptureJob& job, const CaptureSubject& subject, const Slowness& slowness) {
  return {.trigger = subject.trigger,
          .program = job.program->serial,
          .trace_id = subject.trace_id,
          .operation = operation_of_service(*job.program, slowness.operation),
          .duration_nano = slowness.duration_nano,
          .goes_on = slowness.goes_on,
          .shares = !job.subjects.empty()};
}

ingest::SkippedCapture skipped_of(const CaptureSubject& subject, std::string service, uint32_t pid, SkipReason reason) {
  return {.trace_id = subject.trace_id,
          .span_id = subject.span_id,
          .trigger = subject.trigger,
          .reason = reason,
          .service = std::move(service),
          .pid = pid,
          .operation = subject.operation,
          .skipped_unix_nano = now_unix_nano()};
}

}  // namespace

ingest::SkippedCapture skipped_capture(const CaptureSubject& subject, const WatchedProgram& program,
                                       SkipReason reason) {
  return skipped_of(subject, text_of(program.service), static_cast<uint32_t>(program.process.pid), reason);
}

ingest::SkippedCapture skipped_capture(const CaptureSubject& subject, const MadeContent& content, SkipReason reason) {
  return skipped_of(subject, content.service, content.pid, reason);
}

std::string text_of(std::string_view bytes) {
  return repair_utf8(bytes.substr(0, kMostTextBytes), kMostTextBytes);
}

std::string redacted_text_of(std::string_view bytes, const Redaction* rules) {
  return text_of(rules == nullptr ? std::string(bytes) : rules->text(bytes));
}

std::string took_too_long(std::string_view name, const char* verb, uint64_t duration_nano, uint64_t threshold_nano) {
  return text_of(name) + " " + verb + " " + format_duration(duration_nano) + ", its threshold is " +
         format_duration(threshold_nano);
}

std::string among_slowest(std::string_view name, uint64_t duration_nano, uint64_t period_nano) {
  return (text_of(name) + " took " + format_duration(duration_nano))
      .append(capture::kAmongSlowest)
      .append(format_duration(period_nano));
}

CaptureJob CaptureAdmission::job_of(const ProgramPtr& program, uint64_t begin_nano, uint64_t end_nano) const {
  CaptureJob job;
  job.program = program;
  job.trigger_nano = now_monotonic_nano();
  job.begin_nano = begin_nano > options_.margin_nano ? begin_nano - options_.margin_nano : 0;
  job.end_nano = end_nano;
  const bool waits = !program->ended && sources_.await_first_data(*program);
  if (waits) job.first_data_by_nano = job.trigger_nano + options_.first_data_nano;
  return job;
}

bool CaptureAdmission::admit(CaptureJob& job, CaptureSubject subject, const Slowness& slowness) {
  if (job.subjects.size() >= options_.most_subjects) {
    note_skipped(subject, *job.program, SkipReason::kBusy);
    return false;
  }
  subject.redaction = job.program->redaction;
  subject.cause = cause_of(job, subject, slowness);
  subject.admitted_nano = now_monotonic_nano();
  if (std::optional<SkipReason> skipped = limits_.admit(subject.cause, subject.admitted_nano)) {
    note_skipped(subject, *job.program, *skipped);
    return false;
  }
  subject.id = {random_id()};
  job.subjects.push_back(std::move(subject));
  return true;
}

void CaptureAdmission::ring(const CaptureJob& job, uint32_t tid, uint64_t begin_nano, uint64_t at_nano) {
  if (options_.snapshots == nullptr || job.subjects.empty()) return;
  const CaptureSubject& subject = job.subjects.front();
  options_.snapshots->ring({.reason = name_of(subject.trigger),
                            .trace_id = subject.trace_id,
                            .span_id = subject.span_id,
                            .pid = job.program->process.pid,
                            .uid = job.program->uid,
                            .tid = static_cast<int32_t>(tid),
                            .begin_nano = begin_nano,
                            .at_nano = at_nano});
}

bool CaptureAdmission::copy_now(CaptureJob& job) {
  const bool all_copied = worker_.copy_now(job);
  job.open = job.program->open->all_open();
  job.trigger_nano = now_monotonic_nano();
  return all_copied;
}

bool CaptureAdmission::try_submit(CaptureJob& job) {
  return !worker_.submit(job);
}

bool CaptureAdmission::submit(CaptureJob job) {
  std::optional<SkipReason> refused = worker_.submit(job);
  if (refused) skip(job, *refused);
  return !refused;
}

void CaptureAdmission::note_skipped(const CaptureSubject& subject, const WatchedProgram& program, SkipReason reason) {
  count_skipped(subject.trigger, reason);
  skipped_traces_.note(skipped_capture(subject, program, reason), now_monotonic_nano());
}

void CaptureAdmission::note_skipped(const CaptureSubject& subject, const MadeContent& content, SkipReason reason) {
  count_skipped(subject.trigger, reason);
  skipped_traces_.note(skipped_capture(subject, content, reason), now_monotonic_nano());
}

// Takes back the captured window of a span, so that its whole time is captured when it ends.
void CaptureAdmission::skip(const CaptureJob& job, SkipReason reason) {
  for (const CaptureSubject& subject : job.subjects) {
    note_skipped(subject, *job.program, reason);
    limits_.give_back(subject.cause, subject.admitted_nano);
    const bool is_remembered = subject.trigger == CaptureTrigger::kOverdue || subject.trigger == CaptureTrigger::kSlow;
    if (is_remembered) captured_.take_back(job.program->serial, subject.trace_id, subject.span_id, job.end_nano);
  }
}

}  // namespace fathom::agent
