#include "node-agent/triggers/made_content.h"

#include <utility>

#include "node-agent/triggers/capture_admission.h"

namespace fathom::agent {

std::string service_of(const WatchedProgram& program, const Redaction* rules) {
  if (rules == nullptr || rules == program.redaction.get()) return program.service;
  std::string redacted;
  switch (rules->attribute("service.name", RedactValue::of_text(program.service), redacted)) {
    case RedactOutcome::kKept:
      return program.service;
    case RedactOutcome::kDropped:
      return "";
    case RedactOutcome::kChanged:
      break;
  }
  return redacted;
}

MadeContent made_content(const CaptureJob& job, ReadyCapture capture) {
  auto bytes = std::make_shared<const std::string>(std::move(capture.made.content));
  std::string service(text_of(service_of(*job.program, capture.made.redaction.get())));
  return {.program = job.program->serial,
          .uid = job.program->uid,
          .pid = static_cast<uint32_t>(job.program->process.pid),
          .service = std::move(service),
          .begin_nano = job.begin_nano,
          .end_nano = job.end_nano,
          .owner = job.owner,
          .facts = std::move(capture),
          .bytes = std::move(bytes)};
}

OutgoingCapture outgoing_of(const CaptureSubject& subject, const MadeContent& content) {
  const Redaction* rules = content.facts.made.redaction.get();
  const bool is_redacted = rules == nullptr || rules == subject.redaction.get();
  return {.begin = {.id = subject.id,
                    .trace_id = subject.trace_id,
                    .span_id = subject.span_id,
                    .trigger = subject.trigger,
                    .service = content.service,
                    .pid = content.pid,
                    .operation = is_redacted ? subject.operation : redacted_text_of(subject.operation, rules),
                    .start_unix_nano = content.facts.start_unix_nano,
                    .end_unix_nano = content.facts.end_unix_nano,
                    .crosses_clock_jump = content.facts.made.crosses_clock_jump,
                    .truncated = content.facts.made.truncated,
                    .losses = content.facts.made.losses,
                    .sha256 = content.facts.hash,
                    .redaction_fingerprint = rules == nullptr ? std::string() : rules->server_fingerprint()},
          .content = content.bytes,
          .made = content.facts.instant,
          .can_wait = content.owner != JobOwner::kTrigger};
}

}  // namespace fathom::agent
