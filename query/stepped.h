// Which requests ran while the stepper held a process that served them: how long they took is then its doing.
//
// Rules: a span was stepped while its process is that of a window of a stored snapshot, and its time, from its caller's
// begin on, has some of the window's: a call waits unread while who serves it is held. Span and window were told by one
// clock, that of the host. Its process is the window's while process.pid and host.name of its resource are those of the
// window. Where it says no host, nothing else must contradict: the executable, against the files that the process had
// in its memory; and all of process_identity.h, against the span that the snapshot was made for, if that is of the
// window's process. Process 1 is in every container: then something must also agree, that span's instance or its trace.
// A trace was stepped where a span of it was; a row of slowest() where that happened within it. Windows are looked for
// within kMostSkewNano of a row, by which clocks of hosts may thus be wrong; traces of more than kMostSteppedSpans are
// not looked through for a list. Thread safety: none; one query. Errors: the store's.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/json_writer.h"
#include "query/process_identity.h"
#include "query/queries.h"
#include "query/snapshots/snapshot_index.h"

namespace fathom::query {

inline constexpr uint64_t kMostSkewNano = 5'000'000'000;
inline constexpr uint64_t kMostSteppedSpans = 10'000;

class SteppedFinder {
 public:
  using Spans = std::unordered_map<SpanId, const store::StoredSpan*, IdHash>;  // of a trace

  // `range`: of all that will be asked for.
  SteppedFinder(const Stores& stores, store::TimeRange range);

  // Sets SlowestRow::stepped.
  Result<> mark(SlowestRow& row, store::QueryBudget& budget) const;
  // Those that a span of the trace ran in.
  Result<std::vector<SteppedProcess>> of_trace(const store::StoredTrace& trace, store::QueryBudget& budget) const;

 private:
  bool may_touch(const SlowestRow& row) const;
  Result<bool> was_stepped(const store::StoredTrace& trace, const Spans& spans, const SteppedProcess& process,
                           const store::TimeRange& within, store::QueryBudget& budget) const;
  Result<bool> is_of(const store::StoredSpan& stored, const SteppedProcess& process, store::QueryBudget& budget) const;
  Result<const std::optional<ProcessIdentity>*> known_of(const SteppedProcess& process,
                                                         store::QueryBudget& budget) const;

  const Stores& stores_;
  std::vector<SteppedProcess> processes_;
  // What the spans that snapshots were made for say of stepped processes, as far as that was asked for.
  mutable std::map<std::pair<SnapshotId, int32_t>, std::optional<ProcessIdentity>> known_;
};

// The member "stepped" of a trace's document; none where nothing of it was.
void write_stepped(net::JsonWriter& json, const std::vector<SteppedProcess>& processes);

}  // namespace fathom::query
