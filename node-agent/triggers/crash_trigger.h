// CrashTrigger: the trigger kCrash: captures of the last moments of a program that died.
//
// A process with the known exit status 0 did not crash, even if it called _exit(): forked children end this way. Thread
// safety: none; on the agent's loop. Ownership: what it refers to must outlive it.
#pragma once

#include <memory>
#include <vector>

#include "node-agent/sources/sources.h"
#include "node-agent/triggers/capture_admission.h"
#include "node-agent/triggers/program_listener.h"

namespace fathom::agent {

class CrashTrigger : public ProgramListener {
 public:
  CrashTrigger(CaptureAdmission& admission, const Sources& sources) : admission_(admission), sources_(sources) {}

  void crashed(const std::shared_ptr<const WatchedProgram>& program, const std::vector<ThreadSpan>& open) override;

 private:
  CaptureAdmission& admission_;
  const Sources& sources_;
};

}  // namespace fathom::agent
