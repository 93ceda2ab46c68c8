#include "snapshot/analyze/call_difference.h"

#include <algorithm>
#include <utility>

#include "snapshot/analyze/row_tree.h"

namespace fathom::snapshot {

namespace {

CallAmounts amounts_of(const CallRow& row, const TraceTime& time) {
  return {row.self.calls, row.total.instructions, row.self.instructions, time.duration(row.total.ticks),
          time.duration(row.total.pause_ticks)};
}

using Overlay = RowTree<DifferenceRow>;

void lay(Overlay& overlay, const NamedCalls& calls, const TraceTime& time, bool second) {
  std::vector<uint32_t> places(calls.rows.size());
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    const CallRow& from = calls.rows[i];
    places[i] = i == 0 ? 0 : overlay.child(places[from.parent], from.name);
    DifferenceRow& row = overlay[places[i]];
    (second ? row.second : row.first) = amounts_of(from, time);
    (second ? row.in_second : row.in_first) = true;
  }
}

uint64_t greater_size(const DifferenceRow& row) {
  return std::max(row.first.instructions, row.second.instructions);
}

}  // namespace

CallDifference difference_of(const NamedCalls& first, const TraceTime& first_time, const NamedCalls& second,
                             const TraceTime& second_time) {
  Overlay overlay;
  lay(overlay, first, first_time, false);
  lay(overlay, second, second_time, true);
  CallDifference difference;
  difference.rows = std::move(overlay).in_order(greater_size);
  for (const DifferenceRow& row : difference.rows) {
    if (row.in_first == row.in_second) continue;
    ++(row.in_second ? difference.paths_added : difference.paths_removed);
    difference.calls_added += row.in_second ? row.second.calls : 0;
    difference.calls_removed += row.in_second ? 0 : row.first.calls;
  }
  return difference;
}

}  // namespace fathom::snapshot
