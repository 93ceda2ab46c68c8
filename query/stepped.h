// Which requests ran while the stepper held a process that served them: how long they took is then its doing.
//
// Rules: a span was stepped while its resource's process.pid is that of a window of a stored snapshot, its host.name
// the snapshot's host (or not said), and its time, from its caller's begin on, has some of the window's: a call waits
// unread while who serves it is held. Span and window were told by one clock, that of the host.
// A trace was stepped where a span of it was; a row of slowest() where that happened within it. Windows are looked for
// within kMostSkewNano of a row, by which clocks of hosts may thus be wrong; traces of more than kMostSteppedSpans are
// not looked through for a list. Thread safety: none; one query. Errors: the store's.
#pragma once

#include <vector>

#include "net/json_writer.h"
#include "query/queries.h"
#include "query/snapshots/snapshot_index.h"

namespace fathom::query {

inline constexpr uint64_t kMostSkewNano = 5'000'000'000;
inline constexpr uint64_t kMostSteppedSpans = 10'000;

class SteppedFinder {
 public:
  // `range`: of all that will be asked for.
  SteppedFinder(const Stores& stores, store::TimeRange range);

  // Sets SlowestRow::stepped.
  Result<> mark(SlowestRow& row, store::QueryBudget& budget) const;
  // Those that a span of the trace ran in.
  std::vector<SteppedProcess> of_trace(const store::StoredTrace& trace) const;

 private:
  bool may_touch(const SlowestRow& row) const;

  const Stores& stores_;
  std::vector<SteppedProcess> processes_;
};

// The member "stepped" of a trace's document; none where nothing of it was.
void write_stepped(net::JsonWriter& json, const std::vector<SteppedProcess>& processes);

}  // namespace fathom::query
