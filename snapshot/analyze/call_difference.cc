#include "snapshot/analyze/call_difference.h"

#include <utility>

#include "snapshot/analyze/row_tree.h"

namespace fathom::snapshot {

namespace {

// `time`: nullptr where times are not compared.
CallAmounts amounts_of(const CallRow& row, const TraceTime* time) {
  CallAmounts amounts{row.self.calls, row.total.instructions, row.self.instructions};
  if (time == nullptr) return amounts;
  amounts.time = time->duration(row.total.ticks);
  amounts.paused = time->duration(row.total.pause_ticks);
  return amounts;
}

using Overlay = RowTree<DifferenceRow>;

void lay(Overlay& overlay, const NamedCalls& calls, const TraceTime* time, bool second) {
  std::vector<uint32_t> places(calls.rows.size());
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    const CallRow& from = calls.rows[i];
    places[i] = i == 0 ? 0 : overlay.child(places[from.parent], from.name);
    DifferenceRow& row = overlay[places[i]];
    (second ? row.second : row.first) = amounts_of(from, time);
    (second ? row.in_second : row.in_first) = true;
  }
}

Change change_of(const DifferenceRow& row) {
  return row.change();
}

}  // namespace

CallDifference difference_of(const NamedCalls& first, const TraceTime& first_time, const NamedCalls& second,
                             const TraceTime& second_time) {
  Overlay overlay;
  CallDifference difference;
  difference.timed = first_time.unit() == second_time.unit();
  lay(overlay, first, difference.timed ? &first_time : nullptr, false);
  lay(overlay, second, difference.timed ? &second_time : nullptr, true);
  difference.rows = std::move(overlay).in_order(change_of);
  for (const DifferenceRow& row : difference.rows) {
    if (row.in_first == row.in_second) continue;
    ++(row.in_second ? difference.paths_added : difference.paths_removed);
    difference.calls_added += row.in_second ? row.second.calls : 0;
    difference.calls_removed += row.in_second ? 0 : row.first.calls;
  }
  return difference;
}

std::vector<bool> different_rows(const CallDifference& difference, uint64_t limit) {
  const uint64_t with_root = limit == 0 || limit == UINT64_MAX ? limit : limit + 1;
  return greatest_rows(difference.rows, with_root, change_of, [](const DifferenceRow& row) { return !row.same(); });
}

}  // namespace fathom::snapshot
