// CrashTrigger: the trigger kCrash: captures of the last moments of a program that died.
//
// Thread safety: none; on the agent's loop. Ownership: `admission` outlives it.
#pragma once

#include <memory>
#include <vector>

#include "node-agent/triggers/capture_admission.h"
#include "node-agent/triggers/program_listener.h"

namespace fathom::agent {

class CrashTrigger : public ProgramListener {
 public:
  explicit CrashTrigger(CaptureAdmission& admission) : admission_(admission) {}

  void crashed(const std::shared_ptr<const WatchedProgram>& program, const std::vector<ThreadSpan>& open) override;

 private:
  CaptureAdmission& admission_;
};

}  // namespace fathom::agent
