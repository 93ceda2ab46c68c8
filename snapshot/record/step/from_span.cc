#include "snapshot/record/step/from_span.h"

#include <array>

#include "snapshot/record/step/find_function.h"
#include "snapshot/record/step/tracee.h"

namespace fathom::snapshot::step {
namespace {

constexpr const char* kActivates = "fathom_span_activate";

}  // namespace

SpanPoolView& FromSpan::view_of(pid_t pid) {
  return views_.try_emplace(pid, pid).first->second;
}

std::optional<WindowReason> FromSpan::at_program(StepThread& thread, bool) {
  StepProcess& process = *thread.process;
  views_.erase(process.pid);
  view_of(process.pid);
  if (least_nano_ != 0) return std::nullopt;
  process.breakpoints = find_function(process.pid, kActivates);
  process.awaits_libraries = process.breakpoints.empty();
  if (process.awaits_libraries) process.breakpoints = {program_entry(process.pid)};
  breaks_ = breaks_ || !process.awaits_libraries;
  return std::nullopt;
}

// First where an activation begins, then where it ends and the pool shows the span.
std::optional<WindowReason> FromSpan::at_breakpoint(StepThread& thread) {
  StepProcess& process = *thread.process;
  if (process.awaits_libraries) {
    process.awaits_libraries = false;
    process.breakpoints = find_function(process.pid, kActivates);
    if (process.breakpoints.size() > tracee::kBreakpoints) process.breakpoints.resize(tracee::kBreakpoints);
    breaks_ = breaks_ || !process.breakpoints.empty();
    return std::nullopt;
  }
  if (activating_.erase(thread.tid) != 0) {
    tracee::set_breakpoints(thread.tid, process.breakpoints);
    return begin(thread, "requested");
  }
  std::array<uint64_t, 1> behind{};
  const uint64_t stack = tracee::stack_pointer(thread.tid);
  if (process.space.read(stack, {reinterpret_cast<uint8_t*>(behind.data()), sizeof behind}) != sizeof behind)
    return std::nullopt;
  activating_[thread.tid] = behind[0];
  tracee::set_breakpoints(thread.tid, behind);
  return std::nullopt;
}

std::optional<WindowReason> FromSpan::begin(StepThread& thread, const char* reason) {
  SpanPoolView& view = view_of(thread.process->pid);
  const auto open = view.open_spans(operation_, thread.tid);
  if (open.empty() || !is_late(view, open.back())) return std::nullopt;
  const OpenSpanPlace& span = open.back();
  thread.window_address = span.start_address;
  thread.window_word = span.start_ticks;
  thread.watched_flags |= kWritesMemory;
  return WindowReason{reason, span.trace_id, span.span_id};
}

bool FromSpan::is_late(const SpanPoolView& view, const OpenSpanPlace& place) const {
  return view.age_nano(place, clock_) >= least_nano_;
}

uint64_t FromSpan::poll_nano() const {
  return span_poll_nano(least_nano_);
}

// Where there is no place for a breakpoint, spans are seen a little after their beginning.
pid_t FromSpan::poll() {
  if (least_nano_ == 0 && breaks_) return 0;
  for (auto& [pid, view] : views_) {
    for (const OpenSpanPlace& place : view.open_spans(operation_)) {
      if (is_late(view, place)) return place.tid;
    }
  }
  return 0;
}

std::optional<WindowReason> FromSpan::at_interrupt(StepThread& thread) {
  return begin(thread, least_nano_ != 0 ? "overdue" : "requested");
}

bool FromSpan::ends(StepThread& thread) {
  if (thread.window_word == 0) return false;
  uint64_t now = 0;
  const size_t got = thread.process->space.read(thread.window_address, {reinterpret_cast<uint8_t*>(&now), sizeof now});
  return got != sizeof now || now != thread.window_word;
}

std::optional<std::string> FromSpan::fault() const {
  return no_span(operation_, least_nano_);
}

}  // namespace fathom::snapshot::step
