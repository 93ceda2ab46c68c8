#include "snapshot/record/pt/pt_from_function.h"

#include <algorithm>

#include "snapshot/record/step/find_function.h"
#include "snapshot/record/step/tracee.h"

namespace fathom::snapshot {

std::optional<std::string> PtFromFunction::find(HeldProgram& program) {
  addresses_ = step::find_function(program.pid(), name_);
  if (addresses_.empty() && program.run_to_entry()) addresses_ = step::find_function(program.pid(), name_);
  if (addresses_.empty()) return step::no_function(name_, step::code_files(program.pid()));
  if (addresses_.size() > step::tracee::kBreakpoints)
    return step::too_many_functions(name_, step::tracee::kBreakpoints);
  return std::nullopt;
}

Result<> PtFromFunction::begin(PerfSystem& system, const PtRecorder& recorder, pid_t pid) {
  system_ = &system;
  timing_ = recorder.timing();
  for (const uint64_t address : addresses_) {
    auto trigger = SymbolTrigger::arm(system, recorder, {pid}, address);
    if (!trigger) return trigger.error();
    triggers_.push_back(*std::move(trigger));
  }
  return {};
}

std::vector<pollfd> PtFromFunction::poll_events() const {
  std::vector<pollfd> events;
  if (entered_) return events;
  for (const SymbolTrigger& trigger : triggers_) {
    const std::vector<pollfd> more = trigger.poll_events();
    events.insert(events.end(), more.begin(), more.end());
  }
  return events;
}

uint64_t PtFromFunction::poll_nano() const {
  if (!entered_) return PtTrigger::poll_nano();
  const uint64_t now = system_->monotonic_nano();
  return until_nano_ - std::min(until_nano_, now);
}

void PtFromFunction::look() {
  for (SymbolTrigger& trigger : triggers_) {
    const auto fired = trigger.fired();
    if (fired && (!entered_ || fired->tsc < entered_->tsc)) entered_ = fired;
  }
  if (entered_) until_nano_ = system_->monotonic_nano() + after_nano_;
}

std::optional<PtCut> PtFromFunction::due(bool ends) {
  if (!entered_) look();
  if (!entered_ || (!ends && system_->monotonic_nano() < until_nano_)) return std::nullopt;
  const uint64_t before = ticks_of_nano(timing_, before_nano_);
  PtCut cut;
  cut.window = {entered_->tsc - std::min(entered_->tsc - 1, before), entered_->cpu};
  cut.trigger = {.reason = "symbol", .tsc = entered_->tsc, .tid = entered_->tid, .trace_id = {}, .span_id = {}};
  return cut;
}

Result<> PtFromFunction::rearm() {
  entered_.reset();
  for (SymbolTrigger& trigger : triggers_) {
    if (auto armed = trigger.rearm(); !armed) return armed;
  }
  return {};
}

}  // namespace fathom::snapshot
