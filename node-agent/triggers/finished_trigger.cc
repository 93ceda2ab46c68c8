#include "node-agent/triggers/finished_trigger.h"

#include <algorithm>
#include <utility>

#include "base/time.h"
#include "node-agent/triggers/capture_metrics.h"

namespace fathom::agent {

namespace {

bool is_within(const FinishedSpan& span, const FinishedSpan& other) {
  return other.trace_id == span.trace_id && other.start_nano <= span.start_nano && span.end_nano <= other.end_nano;
}

// Limits the times to now: a program may write any end, such as one in a thousand years.
FinishedSpan in_the_past(FinishedSpan span) {
  span.end_nano = std::min(span.end_nano, now_monotonic_nano());
  span.start_nano = std::min(span.start_nano, span.end_nano);
  return span;
}

CaptureSubject subject_of(const FinishedSpan& span, std::string reason) {
  return {.trigger = span.trigger,
          .trace_id = span.trace_id,
          .span_id = span.span_id,
          .operation = text_of(span.name),
          .reason = std::move(reason)};
}

}  // namespace

void FinishedTrigger::finished(uint32_t serial, std::vector<FinishedSpan> spans, const LeftOutSpans& left_out) {
  for (const auto& [what, count] : left_out) {
    count_skipped(what.first, what.second, count);
    if (what.second != SkipReason::kSame) SkippedTraces::drop(count);
  }
  const std::shared_ptr<const WatchedProgram> program = programs_.find(serial);
  if (!program) return;
  std::vector<const FinishedSpan*> captured;
  for (const FinishedSpan& span : spans) {
    if (std::ranges::any_of(captured, [&](const FinishedSpan* other) { return is_within(span, *other); })) {
      count_skipped(span.trigger, SkipReason::kSame);
    } else if (finished_one(program, span)) {
      captured.push_back(&span);
    }
  }
}

std::optional<uint64_t> FinishedTrigger::captured_until_nano(const ProgramPtr& program,
                                                             const FinishedSpan& span) const {
  std::optional<CapturedTraces::Captured> known = admission_.captured().find(program->serial, span.trace_id);
  if (!known || known->span_id != span.span_id) return std::nullopt;
  return known->until_nano;
}

// Other slow spans, which were not captured while they ran, come as requests: request().
bool FinishedTrigger::finished_one(const ProgramPtr& program, const FinishedSpan& unchecked) {
  const FinishedSpan span = in_the_past(unchecked);
  return span.trigger == CaptureTrigger::kSlow ? capture_rest(program, span) : failed(program, span);
}

bool FinishedTrigger::failed(const ProgramPtr& program, const FinishedSpan& span) {
  CaptureJob job = admission_.job_of(program, span.start_nano, span.end_nano + admission_.options().margin_nano);
  const Slowness slowness{span.operation, span.end_nano - span.start_nano, false};
  if (!admission_.admit(job, subject_of(span, text_of(span.name) + " failed"), slowness)) return false;
  admission_.ring(job, 0, span.start_nano, span.end_nano);
  return admission_.submit(std::move(job));
}

// False: captured up to its end already, or not admitted. No snapshot: one was requested while the span ran.
bool FinishedTrigger::capture_rest(const ProgramPtr& program, const FinishedSpan& span) {
  const std::optional<uint64_t> until_nano = captured_until_nano(program, span);
  if (!until_nano) return false;
  CaptureJob job = admission_.job_of(program, span.start_nano, span.end_nano + admission_.options().margin_nano);
  if (*until_nano >= job.end_nano) return false;
  job.begin_nano = std::max(job.begin_nano, *until_nano);
  CaptureSubject subject = subject_of(span, {});
  subject.trigger = CaptureTrigger::kSlow;
  const uint64_t duration_nano = span.end_nano - span.start_nano;
  subject.reason = took_too_long(span.name, "took", duration_nano, span.threshold_nano);
  if (!admission_.admit(job, std::move(subject), {span.operation, duration_nano, true})) return false;
  admission_.captured().put({program->serial, span.trace_id, span.span_id, span.start_nano, job.end_nano});
  return admission_.submit(std::move(job));
}

// Requests a snapshot; only for spans over their threshold, not for each that is among the slowest so far.
void FinishedTrigger::ring(const ProgramPtr& program, const FinishedSpan& span) const {
  CaptureJob job = admission_.job_of(program, span.start_nano, span.end_nano + admission_.options().margin_nano);
  job.subjects.push_back(subject_of(span, {}));
  job.subjects.back().trigger = CaptureTrigger::kSlow;
  admission_.ring(job, 0, span.start_nano, span.end_nano);
}

bool FinishedTrigger::was_captured(uint32_t program, const TraceId& trace_id, const SpanId& span_id) const {
  const std::optional<CapturedTraces::Captured> known = admission_.captured().find(program, trace_id);
  return known && known->span_id == span_id;
}

bool FinishedTrigger::wants_request(uid_t user, uint64_t operation, uint64_t start_nano, uint64_t end_nano) {
  return provisional_.wants(user, operation, start_nano, end_nano);
}

// A request that was captured while it ran needs only the rest. If that is rejected, it takes a place like others.
void FinishedTrigger::request(uint32_t serial, uint64_t operation, FinishedSpan unchecked) {
  const FinishedSpan span = in_the_past(std::move(unchecked));
  const ProgramPtr program = programs_.find(serial);
  if (!program) return;
  const bool has_rung = was_captured(serial, span.trace_id, span.span_id);
  if (capture_rest(program, span)) return provisional_.note_captured(program, span, operation);
  if (!provisional_.add(program, span, operation)) return;
  if (!has_rung && span.threshold_nano <= span.end_nano - span.start_nano) ring(program, span);
}

}  // namespace fathom::agent
