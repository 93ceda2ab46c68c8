// FromSpan: a window while a span of an operation is open in a thread.
//
// Purpose: `--span`. From the span's first instruction: a hardware breakpoint waits where fathom's client makes a span
// the thread's active one, and the pool then tells whether it is the one. Or, with a least duration, once it has been
// open for so long, and still is: the pool is looked at from outside, and the program pays nothing at all. The window
// ends when the pool says that the span is not open any more. Thread safety: the tracer's alone. Errors: fault() says
// what was not found.
#pragma once

#include <map>
#include <string>

#include "snapshot/record/step/span_pool_view.h"
#include "snapshot/record/step/step_trigger.h"
#include "snapshot/record/step/tsc_clock.h"

namespace fathom::snapshot::step {

class FromSpan : public StepTrigger {
 public:
  FromSpan(std::string operation, uint64_t least_nano) : operation_(std::move(operation)), least_nano_(least_nano) {}
  std::optional<WindowReason> at_program(StepThread& thread, bool first) override;
  std::optional<WindowReason> at_breakpoint(StepThread& thread) override;
  uint64_t poll_nano() const override;
  pid_t poll() override;
  std::optional<WindowReason> at_interrupt(StepThread& thread) override;
  bool ends(StepThread& thread) override;
  std::optional<std::string> fault() const override;

 private:
  SpanPoolView& view_of(pid_t pid);
  bool is_late(const SpanPoolView& view, const OpenSpanPlace& place) const;
  std::optional<WindowReason> begin(StepThread& thread, const char* reason);

  std::string operation_;
  uint64_t least_nano_;
  TscClock clock_;
  std::map<pid_t, SpanPoolView> views_;
  std::map<pid_t, uint64_t> activating_;  // threads that run to the end of the activation, which is there
  bool breaks_ = false;                   // the client's function was found
};

}  // namespace fathom::snapshot::step
