// StepTrigger: who decides when a thread's steps are recorded, from where to where: a window.
//
// Purpose: the stepper knows how to step, a trigger knows why. Thread safety: the tracer's alone. Ownership: the
// caller's of the Stepper. Errors: fault() says why no window can ever begin.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "snapshot/record/step/step_thread.h"

namespace fathom::snapshot::step {

// Why a window begins, as Snapshot::trigger has it.
struct WindowReason {
  std::string reason;
  TraceId trace_id;
  SpanId span_id;
  bool endless = false;  // as long as the program: no end is waited for
};

class StepTrigger {
 public:
  virtual ~StepTrigger() = default;
  // A program is mapped, and none of it has run; `first`: the command's. A reason: it is recorded from here on.
  virtual std::optional<WindowReason> at_program(StepThread&, bool) { return std::nullopt; }
  // A thread that runs free has come to one of its process's breakpoints.
  virtual std::optional<WindowReason> at_breakpoint(StepThread&) { return std::nullopt; }
  // How often poll() wants to be asked; 0: never.
  virtual uint64_t poll_nano() const { return 0; }
  // A thread that is to be stopped and stepped; 0: none just now.
  virtual pid_t poll() { return 0; }
  // `thread`, of poll(), has stopped.
  virtual std::optional<WindowReason> at_interrupt(StepThread&) { return std::nullopt; }
  // What it wants to look at has run in a window (StepThread::watched_*): whether the window ends.
  virtual bool ends(StepThread&) { return false; }
  // Whether breakpoints are where what is recorded begins: a stepped thread that comes there is told to at_breakpoint()
  // as well.
  virtual bool begins_at_breakpoints() const { return false; }
  virtual std::optional<std::string> fault() const { return std::nullopt; }
};

}  // namespace fathom::snapshot::step
