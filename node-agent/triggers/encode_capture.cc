#include "node-agent/triggers/encode_capture.h"

#include "base/utf8.h"

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

CaptureFacts facts_of(const CaptureJob& job) {
  return {.begin_nano = job.begin_nano,
          .end_nano = job.end_nano,
          .trigger_nano = job.trigger_nano,
          .pid = static_cast<uint32_t>(job.program->process.pid),
          .service = repair_utf8(job.program->service),
          .reason = job.subjects.front().reason,
          .ended = has_ended(*job.program)};
}

}  // namespace

Result<MadeCapture> encode_capture(const CaptureJob& job, const TickTimes& times) {
  CaptureFacts facts = facts_of(job);
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
