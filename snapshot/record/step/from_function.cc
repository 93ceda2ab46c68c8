#include "snapshot/record/step/from_function.h"

#include <algorithm>

#include "snapshot/record/step/find_function.h"
#include "snapshot/record/step/span_pool_view.h"
#include "snapshot/record/step/tracee.h"

namespace fathom::snapshot::step {
namespace {

constexpr uint16_t kLeaves =
    1U << static_cast<int>(InstructionKind::kReturn) | 1U << static_cast<int>(InstructionKind::kJumpIndirect);

}  // namespace

std::optional<WindowReason> FromFunction::at_program(StepThread& thread, bool) {
  StepProcess& process = *thread.process;
  process.breakpoints = find_function(process.pid, name_);
  process.awaits_libraries = process.breakpoints.empty();
  if (process.awaits_libraries) {
    process.breakpoints = {program_entry(process.pid)};
  } else {
    settle(process);
  }
  return std::nullopt;
}

// A name of many functions would need more breakpoints than there are.
void FromFunction::settle(StepProcess& process) {
  found_ = found_ || !process.breakpoints.empty();
  too_many_ = process.breakpoints.size() > tracee::kBreakpoints;
  if (too_many_) process.breakpoints.clear();
}

void FromFunction::remember_files(pid_t pid) {
  constexpr size_t kMostFiles = 100;
  for (std::string& file : code_files(pid)) {
    const bool known = std::ranges::find(files_, file) != files_.end();
    if (!known && files_.size() < kMostFiles) files_.push_back(std::move(file));
  }
}

std::optional<WindowReason> FromFunction::at_breakpoint(StepThread& thread) {
  StepProcess& process = *thread.process;
  if (process.awaits_libraries) {
    process.awaits_libraries = false;
    process.breakpoints = find_function(process.pid, name_);
    if (process.breakpoints.empty()) remember_files(process.pid);
    settle(process);
    return std::nullopt;
  }
  thread.window_word = tracee::stack_pointer(thread.tid);
  thread.watched_kinds |= kLeaves;
  return reason_of(thread);
}

WindowReason FromFunction::reason_of(const StepThread& thread) {
  WindowReason reason;
  reason.reason = "symbol";
  const auto open = SpanPoolView(thread.process->pid).open_spans("*", thread.tid);
  if (open.empty()) return reason;
  reason.trace_id = open.back().trace_id;
  reason.span_id = open.back().span_id;
  return reason;
}

bool FromFunction::ends(StepThread& thread) {
  if (thread.window_word == 0 || thread.handlers != 0) return false;
  return tracee::stack_pointer(thread.tid) > thread.window_word;
}

std::optional<std::string> FromFunction::fault() const {
  if (too_many_) return too_many_functions(name_, tracee::kBreakpoints);
  if (!found_) return no_function(name_, files_);
  return name_ + " was never called";
}

}  // namespace fathom::snapshot::step
