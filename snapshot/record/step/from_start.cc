#include "snapshot/record/step/from_start.h"

#include "snapshot/record/step/find_function.h"

namespace fathom::snapshot::step {

std::optional<WindowReason> FromStart::at_program(StepThread& thread, bool first) {
  if (!first) return std::nullopt;
  main_ = find_function(thread.process->pid, "main");
  reached_main_ = main_.empty();
  return WindowReason{"window", {}, {}};
}

}  // namespace fathom::snapshot::step
