#include "snapshot/record/step/flow_writer.h"

namespace fathom::snapshot::step {

void FlowWriter::begin(uint64_t tsc) {
  returns_.clear();
  packets_.synchronise(tsc, nullptr);
}

// A decoder may forget its calls where packets were disabled; one that remembers them loses nothing by our doing so.
void FlowWriter::enable(uint64_t ip, uint64_t tsc) {
  enabled_ = true;
  returns_.clear();
  packets_.enable(ip, resumes_tsc_ != 0 ? resumes_tsc_ : tsc);
  resumes_tsc_ = 0;
}

void FlowWriter::leave(uint64_t tsc) {
  packets_.disable(tsc);
  enabled_ = false;
}

// The instruction leads to `expected`. Where the thread is elsewhere, something came between the two.
void FlowWriter::explained(bool yes, uint64_t expected, uint64_t next, uint64_t tsc) {
  if (yes) return;
  packets_.interrupt(expected, next, tsc);
  unexplained_++;
}

void FlowWriter::call(const Instruction& instruction, uint64_t ip, uint64_t next, uint64_t tsc) {
  const bool direct = instruction.kind == InstructionKind::kCall;
  // A call of the next instruction asks where it is, and does not return.
  if (!direct || instruction.displacement != 0) returns_.push(instruction.behind(ip));
  if (!direct) return packets_.target(next, tsc);
  explained(next == instruction.target(ip), instruction.target(ip), next, tsc);
}

void FlowWriter::transfer(const Instruction& instruction, uint64_t ip, uint64_t next, uint64_t tsc) {
  switch (instruction.kind) {
    case InstructionKind::kOther:
      return explained(false, instruction.behind(ip), next, tsc);
    case InstructionKind::kConditional: {
      const bool taken = next == instruction.target(ip);
      packets_.branch(taken, tsc);
      return explained(taken || next == instruction.behind(ip), instruction.behind(ip), next, tsc);
    }
    case InstructionKind::kJump:
      return explained(next == instruction.target(ip), instruction.target(ip), next, tsc);
    case InstructionKind::kCall:
    case InstructionKind::kCallIndirect:
      return call(instruction, ip, next, tsc);
    case InstructionKind::kReturn:
      if (returns_.pop_if(next)) return packets_.branch(true, tsc);
      return packets_.target(next, tsc);
    case InstructionKind::kJumpIndirect:
    case InstructionKind::kFar:
      return packets_.target(next, tsc);
    case InstructionKind::kSystemCall:
    case InstructionKind::kBreakpoint:
      return leave(tsc);
  }
}

void FlowWriter::interrupted(uint64_t from, uint64_t to, uint64_t tsc) {
  if (enabled_) packets_.interrupt(from, to, tsc);
}

void FlowWriter::pause(uint64_t ip, uint64_t tsc) {
  if (!enabled_) return;
  packets_.disable_at(ip, tsc);
  enabled_ = false;
}

void FlowWriter::synchronise(uint64_t ip, uint64_t tsc) {
  returns_.clear();
  packets_.synchronise(tsc, enabled_ ? &ip : nullptr);
}

}  // namespace fathom::snapshot::step
