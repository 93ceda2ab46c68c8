#include "node-agent/triggers/open_span_scan.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fathom::agent {

namespace {

uint64_t saturating_add(uint64_t a, uint64_t b) {
  return a > kNever - b ? kNever : a + b;
}

}  // namespace

uint64_t operation_of(const OpenSpanCopy& span, const Redaction* rules) {
  const std::string redacted = rules == nullptr ? std::string() : rules->text(span.name());
  const bool is_changed = rules != nullptr && redacted != span.name();
  return is_changed ? operation_hash(span.kind, redacted, redacted.size())
                    : operation_hash(span.kind, span.name(), span.name_bytes);
}

void OpenSpanScan::set(std::shared_ptr<const WatchedProgram> program, std::shared_ptr<const Thresholds> thresholds) {
  program_ = std::move(program);
  thresholds_ = std::move(thresholds);
  service_ = &thresholds_->of(program_->service_namespace, program_->service);
  // Every deadline is worked out anew; what was found stays found.
  for (Slot& slot : slots_) {
    slot.depth = UINT32_MAX;
    for (Level& level : slot.levels) {
      if (!level.found) level.start_ticks = 0;
    }
  }
}

void OpenSpanScan::visit(uint64_t now_nano, TickClock& clock, std::vector<OverdueSpan>& overdue) {
  if (!program_->open) return;
  Visit visit{now_nano, clock, overdue};
  uint32_t end = std::min(program_->open->end_of_used(), kMostSlots);
  if (end > slots_.size()) slots_.resize(end);
  for (uint32_t looks = 0; next_slot_ < end; ++next_slot_) {
    if (++looks > kMostLooks || overdue.size() >= kMostFound) {
      next_deadline_nano_ = std::min(next_deadline_nano_, round_deadline_nano_);
      return;
    }
    look_at(next_slot_, slots_[next_slot_], visit);
    round_deadline_nano_ = std::min(round_deadline_nano_, slots_[next_slot_].soonest_nano);
  }
  end_round();
}

void OpenSpanScan::end_round() {
  next_deadline_nano_ = std::exchange(round_deadline_nano_, kNever);
  next_slot_ = 0;
}

// Spans end in the reverse order of their beginning, mostly: when the innermost one is the same, so are the others.
bool OpenSpanScan::unchanged(uint32_t number, const Slot& slot, uint64_t now_nano) const {
  uint32_t depth = depth_of(number);
  if (depth != slot.depth || slot.soonest_nano <= now_nano) return false;
  return depth == 0 || program_->open->start_ticks(number, depth - 1) == slot.levels[depth - 1].start_ticks;
}

void OpenSpanScan::look_at(uint32_t number, Slot& slot, Visit& visit) {
  if (unchanged(number, slot, visit.now_nano)) return;
  slot.depth = depth_of(number);
  slot.soonest_nano = kNever;
  bool stands_still = true;
  for (uint32_t level = 0; level < slot.depth; ++level) {
    stands_still = look_at_level(number, level, slot.levels[level], visit) && stands_still;
    slot.soonest_nano = std::min(slot.soonest_nano, slot.levels[level].deadline_nano);
  }
  if (!stands_still) slot.depth = UINT32_MAX;  // at the next visit again
}

uint64_t OpenSpanScan::threshold_of(const OpenSpanCopy& span) const {
  return service_->of(operation_of(span, program_->redaction.get()));
}

bool OpenSpanScan::look_at_level(uint32_t number, uint32_t level, Level& known, Visit& visit) {
  bool same = known.start_ticks != 0 && program_->open->start_ticks(number, level) == known.start_ticks;
  if (same && known.deadline_nano > visit.now_nano) return true;
  std::optional<OpenSpanCopy> span = program_->open->read(number, level);
  if (!span) {
    known = {};
    return false;
  }
  uint64_t start_nano = visit.clock.monotonic_nano(program_->clock, span->start_ticks);
  uint64_t threshold_nano = threshold_of(*span);
  known.found = known.found && known.start_ticks == span->start_ticks;
  known.start_ticks = span->start_ticks;
  known.deadline_nano = known.found ? kNever : saturating_add(start_nano, threshold_nano);
  if (known.deadline_nano > visit.now_nano) return true;
  known.found = true;
  known.deadline_nano = kNever;
  visit.overdue.push_back({program_->open->owner(number), *span, start_nano, threshold_nano});
  return true;
}

}  // namespace fathom::agent
