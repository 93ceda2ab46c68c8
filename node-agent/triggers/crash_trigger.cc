#include "node-agent/triggers/crash_trigger.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/time.h"

namespace fathom::agent {

// Under each trace that was open, because those will never have the end of their spans; the innermost span says where.
void CrashTrigger::crashed(const std::shared_ptr<const WatchedProgram>& program, const std::vector<ThreadSpan>& open) {
  if (sources_.exit_status(program->process) == 0) return;
  const uint64_t now_nano = now_monotonic_nano();
  const uint64_t window_nano = admission_.options().crash_window_nano;
  CaptureJob job = admission_.job_of(program, now_nano - std::min(now_nano, window_nano), now_nano);
  CaptureSubject subject;
  subject.trigger = CaptureTrigger::kCrash;
  subject.reason = "process " + std::to_string(program->process.pid) + " ended without coming to its end";
  std::map<TraceId, const ThreadSpan*> innermost;
  for (const ThreadSpan& span : open) innermost[span.span.trace_id] = &span;
  for (const auto& [trace_id, span] : innermost) {
    subject.trace_id = trace_id;
    subject.span_id = span->span.span_id;
    subject.operation = redacted_text_of(span->span.name(), program->redaction.get());
    admission_.admit(job, subject);
  }
  if (innermost.empty()) admission_.admit(job, subject);
  job.open = open;
  if (!job.subjects.empty()) (void)admission_.submit(std::move(job));
}

}  // namespace fathom::agent
