// FinishedTrigger: the triggers kSlow and kError: captures of spans that took too long, or failed, when they end.
//
// Thread safety: none; on the agent's loop. Ownership: what it refers to must outlive it.
#pragma once

#include "node-agent/triggers/capture_admission.h"
#include "node-agent/triggers/finished_spans.h"
#include "node-agent/triggers/watched_programs.h"

namespace fathom::agent {

class FinishedTrigger : public FinishedSpanSink {
 public:
  FinishedTrigger(CaptureAdmission& admission, const WatchedPrograms& programs)
      : admission_(admission), programs_(programs) {}

  void finished(uint32_t program, std::vector<FinishedSpan> spans, const LeftOutSpans& left_out) override;

 private:
  bool finished_one(const std::shared_ptr<const WatchedProgram>& program, FinishedSpan span);
  bool take_rest(const FinishedSpan& span, CaptureJob& job, bool& goes_on);

  CaptureAdmission& admission_;
  const WatchedPrograms& programs_;
};

}  // namespace fathom::agent
