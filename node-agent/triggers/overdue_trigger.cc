#include "node-agent/triggers/overdue_trigger.h"

#include <algorithm>

#include "base/time.h"
#include "node-agent/triggers/capture_metrics.h"

namespace fathom::agent {

namespace {

void observe_all(const std::vector<OverdueSpan>& spans, uint64_t copied_nano) {
  for (const OverdueSpan& span : spans) {
    uint64_t due_nano = span.start_nano + span.threshold_nano;
    if (due_nano < copied_nano) observe_overdue(copied_nano - due_nano);
  }
}

}  // namespace

bool OverdueTrigger::admit(CaptureJob& job, const OverdueSpan& span) {
  const Redaction* rules = job.program->redaction.get();
  const std::string name = redacted_text_of(span.span.name(), rules);
  const uint64_t open_nano = job.trigger_nano - std::min(job.trigger_nano, span.start_nano);
  return admission_.admit(job,
                          {.trigger = CaptureTrigger::kOverdue,
                           .trace_id = span.span.trace_id,
                           .span_id = span.span.span_id,
                           .operation = name,
                           .reason = took_too_long(name, "has been running for", open_nano, span.threshold_nano)},
                          {.operation = operation_of(span.span, rules), .duration_nano = open_nano});
}

bool OverdueTrigger::overdue(const std::shared_ptr<const WatchedProgram>& program, std::vector<OverdueSpan> spans) {
  const uint64_t begin_nano = std::ranges::min_element(spans, {}, &OverdueSpan::start_nano)->start_nano;
  CaptureJob job = admission_.job_of(program, begin_nano, now_monotonic_nano());
  for (const OverdueSpan& span : spans) {
    const bool is_first = admit(job, span) && job.subjects.size() == 1;
    if (is_first) admission_.ring(job, span.tid, span.start_nano);
  }
  if (job.subjects.empty()) return false;
  if (admission_.copy_now(job)) observe_all(spans, job.trigger_nano);
  remember(job, spans);
  (void)admission_.submit(std::move(job));
  return true;
}

void OverdueTrigger::remember(const CaptureJob& job, const std::vector<OverdueSpan>& spans) {
  for (const CaptureSubject& subject : job.subjects) {
    auto its = std::ranges::find_if(spans, [&](const OverdueSpan& of) { return of.span.span_id == subject.span_id; });
    uint64_t start_nano = its == spans.end() ? job.begin_nano : its->start_nano;
    admission_.captured().put({job.program->serial, subject.trace_id, subject.span_id, start_nano, job.end_nano});
  }
}

bool OverdueTrigger::admit(CaptureJob& job, const ProgramTrigger& trigger) {
  return admission_.admit(job, {.trigger = CaptureTrigger::kProgram,
                                .trace_id = trigger.trace_id,
                                .span_id = trigger.span_id,
                                .reason = redacted_text_of(trigger.reason, job.program->redaction.get())});
}

bool OverdueTrigger::asked(const std::shared_ptr<const WatchedProgram>& program, std::vector<ProgramTrigger> triggers) {
  const uint64_t now_nano = now_monotonic_nano();
  const uint64_t window_nano = admission_.options().program_window_nano;
  CaptureJob job = admission_.job_of(program, now_nano - std::min(now_nano, window_nano), now_nano);
  for (const ProgramTrigger& trigger : triggers) {
    const bool is_first = admit(job, trigger) && job.subjects.size() == 1;
    if (is_first) admission_.ring(job, trigger.tid, 0);
  }
  if (job.subjects.empty()) return false;
  (void)admission_.copy_now(job);
  (void)admission_.submit(std::move(job));
  return true;
}

void OverdueTrigger::missed(uint64_t triggers) {
  count_skipped(CaptureTrigger::kProgram, SkipReason::kOverwritten, triggers);
}

}  // namespace fathom::agent
