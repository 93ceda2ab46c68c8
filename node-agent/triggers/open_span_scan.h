// OpenSpanScan: finds the spans of one program that have been open for too long.
//
// Purpose: the logic of OverdueWatch without its thread. A look at a slot in which nothing has changed costs two cache
// lines; what is new in one gets a deadline, its start and its operation's threshold; at the deadline it is looked at
// again, and is overdue when it is still the same span. Each is so once. Programs use their slots from the first on, as
// many as they have threads at once, so only those are looked at that were used. Thread safety: none. Hostility: a
// visit looks at kMostLooks slots and finds kMostFound spans, about, and goes on there the next time; slots beyond
// kMostSlots are never looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "node-agent/clock/tick_clock.h"
#include "node-agent/triggers/thresholds.h"
#include "node-agent/triggers/watched_program.h"

namespace fathom::agent {

struct OverdueSpan {
  uint32_t tid = 0;  // as the program sees it
  OpenSpanCopy span;
  uint64_t start_nano = 0;  // CLOCK_MONOTONIC
  uint64_t threshold_nano = 0;
};

// operation_hash() of the redacted name, by which the server knows the operation, too. `rules` may be null.
uint64_t operation_of(const OpenSpanCopy& span, const Redaction* rules);

class OpenSpanScan {
 public:
  static constexpr uint32_t kMostSlots = 4096;
  static constexpr uint32_t kMostLooks = 1024;
  static constexpr size_t kMostFound = 64;

  // Of whom, and by which thresholds, from now on. A span that was found overdue before is not again.
  void set(std::shared_ptr<const WatchedProgram> program, std::shared_ptr<const Thresholds> thresholds);
  const WatchedProgram& program() const { return *program_; }
  uint64_t smallest_threshold_nano() const { return service_ == nullptr ? kNever : service_->smallest_nano(); }

  // Appends those that are overdue now.
  void visit(uint64_t now_nano, TickClock& clock, std::vector<OverdueSpan>& overdue);
  // Of all that is known to be open; kNever: none. May have passed, when the last visit did not come to its slot.
  uint64_t next_deadline_nano() const { return next_deadline_nano_; }

 private:
  struct Level {
    uint64_t start_ticks = 0;
    uint64_t deadline_nano = kNever;  // kNever also when it was reached
    bool found = false;               // overdue
  };
  struct Slot {
    uint32_t depth = 0;
    uint64_t soonest_nano = kNever;
    Level levels[pool::kOpenLevels];
  };

  struct Visit {
    uint64_t now_nano;
    TickClock& clock;
    std::vector<OverdueSpan>& overdue;
  };
  void end_round();
  void look_at(uint32_t number, Slot& slot, Visit& visit);
  uint32_t depth_of(uint32_t number) const {
    return program_->open->owner(number) == 0 ? 0 : program_->open->depth(number);
  }
  bool unchanged(uint32_t number, const Slot& slot, uint64_t now_nano) const;
  // False: it is just being changed.
  bool look_at_level(uint32_t number, uint32_t level, Level& known, Visit& visit);
  uint64_t threshold_of(const OpenSpanCopy& span) const;

  std::shared_ptr<const WatchedProgram> program_;
  std::shared_ptr<const Thresholds> thresholds_;
  const ServiceThresholds* service_ = nullptr;
  std::vector<Slot> slots_;
  uint32_t next_slot_ = 0;
  uint64_t next_deadline_nano_ = kNever;
  uint64_t round_deadline_nano_ = kNever;
};

}  // namespace fathom::agent
