#include "node-agent/triggers/encode_capture.h"

#include <utility>

#include "base/utf8.h"
#include "node-agent/triggers/made_content.h"

namespace fathom::agent {

namespace {

std::vector<OpenSpanOfThread> open_spans(const std::vector<ThreadSpan>& spans) {
  std::vector<OpenSpanOfThread> open;
  open.reserve(spans.size());
  for (const ThreadSpan& at : spans) {
    open.push_back({.tid = at.tid,
                    .start_ticks = at.span.start_ticks,
                    .span = {at.span.trace_id, at.span.span_id},
                    .kind = at.span.kind,
                    .name = repair_utf8(at.span.name())});
  }
  return open;
}

// A job keeps what was known of its program when the request came, which may be long ago.
bool has_ended(const WatchedProgram& program) {
  return program.ended || life_of(program.process) == Life::kGone;
}

// The rules may have changed since the trigger.
std::string reason_of(const CaptureSubject& subject, const Redaction* rules) {
  return rules == nullptr || rules == subject.redaction.get() ? subject.reason : rules->text(subject.reason);
}

CaptureFacts facts_of(const CaptureJob& job, std::shared_ptr<const Redaction> rules) {
  return {.begin_nano = job.begin_nano,
          .end_nano = job.end_nano,
          .trigger_nano = job.trigger_nano,
          .pid = static_cast<uint32_t>(job.program->process.pid),
          .service = repair_utf8(service_of(*job.program, rules.get())),
          .reason = reason_of(job.subjects.front(), rules.get()),
          .ended = has_ended(*job.program),
          .redaction = std::move(rules)};
}

}  // namespace

Result<MadeCapture> encode_capture(const CaptureJob& job, const TickTimes& times) {
  return encode_redacted_capture(job, times, nullptr);
}

Result<MadeCapture> encode_redacted_capture(const CaptureJob& job, const TickTimes& times,
                                            std::shared_ptr<const Redaction> rules) {
  CaptureFacts facts = facts_of(job, std::move(rules));
  ThreadTable::Identify identify;
  if (!facts.ended) {
    const auto threads = std::make_shared<LivingThreads>(job.program->process.pid);
    identify = [threads](uint32_t program_tid) { return (*threads)(program_tid); };
  }
  CaptureBuilder capture(std::move(facts), times, std::move(identify), {}, held_bytes(job.slices));
  capture.write_open_spans(open_spans(*job.open), job.program->clock);
  for (const std::unique_ptr<Slice>& slice : job.slices) slice->write(capture);
  return capture.finish();
}

}  // namespace fathom::agent
