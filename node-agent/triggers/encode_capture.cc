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

CaptureInput input_of(const CaptureMaterial& material) {
  const CaptureJob& job = *material.job;
  CaptureInput input(*material.times);
  input.begin_nano = job.begin_nano;
  input.end_nano = job.end_nano;
  input.trigger_nano = job.trigger_nano;
  input.pid = static_cast<uint32_t>(job.program->process.pid);
  input.service = repair_utf8(job.program->service);
  input.reason = job.subjects.front().reason;
  input.ended = has_ended(*job.program);
  input.detail = material.events;
  input.kernel = material.kernel;
  input.kernel_missing = material.kernel_missing;
  input.open = open_spans(*material.open);
  input.open_clock = job.program->clock;
  if (!input.ended) input.identify = LivingThreads(job.program->process.pid);
  return input;
}

}  // namespace

Result<MadeCapture> encode_capture(const CaptureMaterial& material) {
  return make_capture(input_of(material));
}

}  // namespace fathom::agent
