// FromStart: the whole program, from its first instruction, or from main() on.
//
// Purpose: before main() the dynamic linker is at work, which for large programs is millions of instructions that are
// nobody's question: it runs at full speed, to a hardware breakpoint, unless it is asked for. Where the name of main()
// was stripped, recording begins at the program's entry point, behind the linker. Thread safety: the tracer's alone.
// Errors: fault() says that the program ended before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "snapshot/record/step/step_trigger.h"

namespace fathom::snapshot::step {

class FromStart : public StepTrigger {
 public:
  enum class Begin { kLinker, kMain };
  explicit FromStart(Begin begin = Begin::kLinker) : begin_(begin) {}
  std::optional<WindowReason> at_program(StepThread& thread, bool first) override;
  std::optional<WindowReason> at_breakpoint(StepThread& thread) override;
  std::optional<std::string> fault() const override;

  // An instruction that is recorded; from a StepObserver.
  void ran(uint64_t ip) { reached_main_ = reached_main_ || std::ranges::find(main_, ip) != main_.end(); }
  // True also where nobody knows where it is.
  bool reached_main() const { return reached_main_; }

 private:
  const Begin begin_;
  std::vector<uint64_t> main_;
  bool reached_main_ = true;
};

}  // namespace fathom::snapshot::step
