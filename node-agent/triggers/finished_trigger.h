// FinishedTrigger: the triggers kSlow and kError, for spans that have ended.
//
// Purpose: captures failed spans, and the rest of spans that were captured while they ran, at once. Requests that may
// be the slowest of their operation and minute go to ProvisionalCaptures. Thread safety: none, belongs to the agent's
// loop. Ownership: what it refers to must outlive it.
#pragma once

#include "node-agent/triggers/capture_admission.h"
#include "node-agent/triggers/finished_spans.h"
#include "node-agent/triggers/provisional_captures.h"
#include "node-agent/triggers/watched_programs.h"

namespace fathom::agent {

class FinishedTrigger : public FinishedSpanSink {
 public:
  FinishedTrigger(CaptureAdmission& admission, const WatchedPrograms& programs, ProvisionalCaptures& provisional)
      : admission_(admission), programs_(programs), provisional_(provisional) {}

  void finished(uint32_t program, std::vector<FinishedSpan> spans, const LeftOutSpans& left_out) override;
  bool was_captured(uint32_t program, const TraceId& trace_id, const SpanId& span_id) const override;
  bool wants_request(uid_t user, uint64_t operation, uint64_t start_nano, uint64_t end_nano) override;
  void request(uint32_t program, uint64_t operation, FinishedSpan span) override;

 private:
  using ProgramPtr = std::shared_ptr<const WatchedProgram>;
  bool finished_one(const ProgramPtr& program, const FinishedSpan& span);
  bool failed(const ProgramPtr& program, const FinishedSpan& span);
  void ring(const ProgramPtr& program, const FinishedSpan& span) const;
  bool capture_rest(const ProgramPtr& program, const FinishedSpan& span);
  // The end of the time for which the span was captured while it ran.
  std::optional<uint64_t> captured_until_nano(const ProgramPtr& program, const FinishedSpan& span) const;

  CaptureAdmission& admission_;
  const WatchedPrograms& programs_;
  ProvisionalCaptures& provisional_;
};

}  // namespace fathom::agent
