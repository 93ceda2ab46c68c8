// FromFunction: a window from each entry of a function until it returns.
//
// Purpose: `--function`. The function is looked for in the program, and, once the dynamic linker is done, in what it
// brought. A hardware breakpoint waits there, so nobody's code is changed, and who never comes there runs at full
// speed. Where the thread has a span of fathom's client open, the window is told to be of that one. The window ends
// when the stack is above the frame: by a return, an exception that passes, or longjmp(). Thread safety: the tracer's
// alone. Errors: fault() says that it was nowhere.
#pragma once

#include <string>
#include <vector>

#include "snapshot/record/step/step_trigger.h"

namespace fathom::snapshot::step {

class FromFunction : public StepTrigger {
 public:
  explicit FromFunction(std::string name) : name_(std::move(name)) {}
  std::optional<WindowReason> at_program(StepThread& thread, bool first) override;
  std::optional<WindowReason> at_breakpoint(StepThread& thread) override;
  bool ends(StepThread& thread) override;
  bool begins_at_breakpoints() const override { return true; }
  std::optional<std::string> fault() const override;

 private:
  static WindowReason reason_of(const StepThread& thread);
  void settle(StepProcess& process);
  void remember_files(pid_t pid);

  std::string name_;
  bool found_ = false;
  bool too_many_ = false;
  std::vector<std::string> files_;  // where it is not
};

}  // namespace fathom::snapshot::step
