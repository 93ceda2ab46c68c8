// OverdueTrigger: the triggers kOverdue and kProgram: captures of what a program does right now.
//
// Purpose: what the watch finds (watch_round.h). The copy is taken there and then: what the span did may be overwritten
// soon. Thread safety: none; called on the watch's thread. Ownership: `admission` outlives it.
#pragma once

#include "node-agent/triggers/capture_admission.h"
#include "node-agent/triggers/watch_round.h"

namespace fathom::agent {

class OverdueTrigger : public TriggerSink {
 public:
  explicit OverdueTrigger(CaptureAdmission& admission) : admission_(admission) {}

  bool overdue(const std::shared_ptr<const WatchedProgram>& program, std::vector<OverdueSpan> spans) override;
  bool asked(const std::shared_ptr<const WatchedProgram>& program, std::vector<ProgramTrigger> triggers) override;
  void missed(uint64_t triggers) override;

 private:
  bool admit(CaptureJob& job, const OverdueSpan& span);
  bool admit(CaptureJob& job, const ProgramTrigger& trigger);
  void remember(const CaptureJob& job, const std::vector<OverdueSpan>& spans);

  CaptureAdmission& admission_;
};

}  // namespace fathom::agent
