#include "node-agent/triggers/finished_trigger.h"

#include <algorithm>

#include "base/time.h"
#include "node-agent/triggers/capture_metrics.h"

namespace fathom::agent {

namespace {

bool is_within(const FinishedSpan& span, const FinishedSpan& other) {
  return other.trace_id == span.trace_id && other.start_nano <= span.start_nano && span.end_nano <= other.end_nano;
}

std::string reason_of(const FinishedSpan& span) {
  if (span.trigger != CaptureTrigger::kSlow) return text_of(span.name) + " failed";
  return took_too_long(span.name, "took", span.end_nano - span.start_nano, span.threshold_nano);
}

}  // namespace

void FinishedTrigger::finished(uint32_t serial, std::vector<FinishedSpan> spans, const LeftOutSpans& left_out) {
  for (const auto& [what, count] : left_out) count_skipped(what.first, what.second, count);
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

// What of a slow span is not captured yet: of one that was captured while it ran, the rest; of one that began before
// what was captured of its trace, all. The others lie within one that is captured, when it ends at the latest; but a
// trace may go on for days, and what came a while behind what was captured has a turn of its own.
bool FinishedTrigger::take_rest(const FinishedSpan& span, CaptureJob& job, bool& goes_on) {
  std::optional<CapturedTraces::Captured> known = admission_.captured().find(job.program->serial, span.trace_id);
  bool is_the_same = known && known->span_id == span.span_id;
  bool is_past = known && !is_the_same && span.start_nano >= known->until_nano &&
                 span.end_nano - known->until_nano >= admission_.options().limits.remember_nano;
  goes_on = known && !is_past;
  if (!goes_on) return true;
  if (known->until_nano >= job.end_nano || (!is_the_same && span.start_nano >= known->start_nano)) return false;
  if (is_the_same) job.begin_nano = std::max(job.begin_nano, known->until_nano);
  return true;
}

bool FinishedTrigger::finished_one(const std::shared_ptr<const WatchedProgram>& program, FinishedSpan span) {
  // A program may say that it ended in a thousand years.
  span.end_nano = std::min(span.end_nano, now_monotonic_nano());
  span.start_nano = std::min(span.start_nano, span.end_nano);
  const bool slow = span.trigger == CaptureTrigger::kSlow;
  CaptureJob job = admission_.job_of(program, span.start_nano, span.end_nano + admission_.options().margin_nano);
  bool goes_on = false;
  if (slow && !take_rest(span, job, goes_on)) {
    count_skipped(span.trigger, SkipReason::kSame);
    return false;
  }
  const bool admitted = admission_.admit(job,
                                         {.trigger = span.trigger,
                                          .trace_id = span.trace_id,
                                          .span_id = span.span_id,
                                          .operation = text_of(span.name),
                                          .reason = reason_of(span)},
                                         {span.operation, span.end_nano - span.start_nano, goes_on});
  if (!admitted) return false;
  if (!goes_on) admission_.ring(job, 0, span.start_nano, span.end_nano);  // else it was cut while it ran
  if (slow) admission_.captured().put({program->serial, span.trace_id, span.span_id, span.start_nano, job.end_nano});
  return admission_.submit(std::move(job));
}

}  // namespace fathom::agent
