#include "snapshot/record/step/from_start.h"

#include "snapshot/record/step/find_function.h"
#include "snapshot/record/step/tracee.h"

namespace fathom::snapshot::step {
namespace {

WindowReason whole_program() {
  WindowReason reason;
  reason.reason = "window";
  reason.endless = true;
  return reason;
}

}  // namespace

std::optional<WindowReason> FromStart::at_program(StepThread& thread, bool first) {
  if (!first) return std::nullopt;
  StepProcess& process = *thread.process;
  main_ = find_function(process.pid, "main");
  reached_main_ = main_.empty();
  if (begin_ == Begin::kLinker) return whole_program();
  const uint64_t begin = main_.size() == 1 ? main_[0] : program_entry(process.pid);
  // Without a linker it is there already.
  if (begin == 0 || begin == tracee::instruction_pointer(thread.tid)) return whole_program();
  process.breakpoints = {begin};
  reached_main_ = false;
  return std::nullopt;
}

std::optional<WindowReason> FromStart::at_breakpoint(StepThread& thread) {
  thread.process->breakpoints.clear();
  reached_main_ = true;
  return whole_program();
}

std::optional<std::string> FromStart::fault() const {
  if (reached_main_) return std::nullopt;
  return "the program ended before main(); --from start records what it did until then";
}

}  // namespace fathom::snapshot::step
