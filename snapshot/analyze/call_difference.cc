#include "snapshot/analyze/call_difference.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fathom::snapshot {

namespace {

CallAmounts amounts_of(const CallRow& row, const TraceTime& time) {
  return {row.self.calls, row.total.instructions, row.self.instructions, time.duration(row.total.ticks),
          time.duration(row.total.pause_ticks)};
}

// Both trees as one, parents before children.
class Overlay {
 public:
  void add(const NamedCalls& calls, const TraceTime& time, bool second) {
    std::vector<uint32_t> places(calls.rows.size());
    for (size_t i = 0; i < calls.rows.size(); ++i) {
      const CallRow& from = calls.rows[i];
      places[i] = i == 0 ? root() : child(places[from.parent], from.name);
      DifferenceRow& row = rows_[places[i]];
      (second ? row.second : row.first) = amounts_of(from, time);
      (second ? row.in_second : row.in_first) = true;
    }
  }

  std::vector<DifferenceRow> in_order() {
    std::vector<std::vector<uint32_t>> children(rows_.size());
    for (uint32_t i = 1; i < rows_.size(); ++i) children[rows_[i].parent].push_back(i);
    for (auto& list : children) std::ranges::sort(list, [this](uint32_t a, uint32_t b) { return before(b, a); });
    std::vector<DifferenceRow> ordered;
    std::vector<std::pair<uint32_t, uint32_t>> open{{0, 0}};
    while (!open.empty()) {
      auto [from, parent] = open.back();
      open.pop_back();
      const auto number = static_cast<uint32_t>(ordered.size());
      ordered.push_back(rows_[from]);
      ordered.back().parent = parent;
      for (uint32_t next : children[from]) open.emplace_back(next, number);
    }
    return ordered;
  }

 private:
  uint32_t root() {
    if (rows_.empty()) rows_.emplace_back().name = "all";
    return 0;
  }
  uint32_t child(uint32_t parent, const std::string& name) {
    auto [place, fresh] = places_.try_emplace({parent, name}, static_cast<uint32_t>(rows_.size()));
    if (fresh) {
      DifferenceRow row;
      row.name = name;
      row.parent = parent;
      row.depth = rows_[parent].depth + 1;
      rows_.push_back(std::move(row));
    }
    return place->second;
  }
  bool before(uint32_t a, uint32_t b) const {
    const auto size = [this](uint32_t row) {
      return std::max(rows_[row].first.instructions, rows_[row].second.instructions);
    };
    return size(a) != size(b) ? size(a) > size(b) : rows_[a].name < rows_[b].name;
  }

  std::vector<DifferenceRow> rows_;
  std::map<std::pair<uint32_t, std::string>, uint32_t> places_;
};

}  // namespace

CallDifference difference_of(const NamedCalls& first, const TraceTime& first_time, const NamedCalls& second,
                             const TraceTime& second_time) {
  Overlay overlay;
  overlay.add(first, first_time, false);
  overlay.add(second, second_time, true);
  CallDifference difference;
  difference.rows = overlay.in_order();
  for (const DifferenceRow& row : difference.rows) {
    if (row.in_first == row.in_second) continue;
    ++(row.in_second ? difference.paths_added : difference.paths_removed);
    difference.calls_added += row.in_second ? row.second.calls : 0;
    difference.calls_removed += row.in_second ? 0 : row.first.calls;
  }
  return difference;
}

}  // namespace fathom::snapshot
