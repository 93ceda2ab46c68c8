// What gets lost between a program and this agent's batches, each reason a series of base/metrics.h.
//
// Purpose: one list for /metrics and for the collector. Thread safety: as base/metrics.h. Ownership: the registry's.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "client/pool/detail_layout.h"

namespace fathom::agent {

class AgentLosses {
 public:
  AgentLosses();

  // Of programs, as their pools count them: `loss` is pool::Loss; beyond those known here: "unknown".
  Counter& of_program(uint32_t loss) { return *programs_[loss < programs_.size() ? loss : programs_.size() - 1]; }
  // Adds what a program says that it lost. More than `most`, or more than the series has room for, is no count: it is
  // left out, and counted as such.
  void add_of_program(uint32_t loss, uint64_t lost, uint64_t most);
  // The same of events: `loss` is pool::DetailLoss.
  void add_of_detail(uint32_t loss, uint64_t lost, uint64_t most);

  Counter& malformed_spans;    // records that hold no span: no ids, lengths that do not add up
  Counter& malformed_items;    // spans that were cut at an item that does not fit
  Counter& unknown_records;    // of a type that a later version of the client writes
  Counter& unfinished_spans;   // gaps that a program's death left in its pool: at least one span each
  Counter& dropped_spans;      // of dead programs, whose memory could not be kept for longer
  Counter& abandoned_batches;  // marked in a pool beyond what any agent marks
  Counter& taken_over_pools;   // another agent began to read a pool that we read
  Counter& wild_counts;        // of losses, by programs: more than can be true
  Counter& endless_pools;      // of programs that are over, and yet written to without end
  Counter& no_room_pools;      // kept from before, and more than a user may make us read
  Counter& detail_pools;       // of events, of dead programs, let go of before their time

  // Reason and number of all that are not zero.
  std::vector<std::pair<std::string, uint64_t>> list() const;

 private:
  static constexpr uint32_t kEventReasons = pool::kLostTracepoints + 2;

  void add(Counter& series, uint64_t lost, uint64_t most);

  std::array<Counter*, pool::kCutValues + 2> programs_;
  std::array<Counter*, kEventReasons> events_;
};

}  // namespace fathom::agent
