// FromStart: the whole program, from its first instruction.
//
// Thread safety, errors: step_trigger.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "snapshot/record/step/step_trigger.h"

namespace fathom::snapshot::step {

class FromStart : public StepTrigger {
 public:
  std::optional<WindowReason> at_program(StepThread& thread, bool first) override;

  // An instruction that is recorded; from a StepObserver.
  void ran(uint64_t ip) { reached_main_ = reached_main_ || std::ranges::find(main_, ip) != main_.end(); }
  // Before it the dynamic linker is at work, which for large programs is most of what is recorded. True also where
  // nobody knows where it is.
  bool reached_main() const { return reached_main_; }

 private:
  std::vector<uint64_t> main_;
  bool reached_main_ = true;
};

}  // namespace fathom::snapshot::step
