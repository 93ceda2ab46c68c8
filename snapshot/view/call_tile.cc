#include "snapshot/view/call_tile.h"

#include <algorithm>

namespace fathom::snapshot {

namespace {

// Where a call or a break lies on the axis that was asked for.
class Axis {
 public:
  explicit Axis(ViewAxis axis) : rows_(axis == ViewAxis::kRows) {}
  template <typename Interval>
  uint64_t start(const Interval& one) const {
    return rows_ ? one.first_row : one.start;
  }
  template <typename Interval>
  uint64_t end(const Interval& one) const {
    return rows_ ? one.end_row : one.end;
  }

 private:
  bool rows_;
};

// Goes through what lies in the question's stretch: wide(one) for those at least a column wide, narrow(first, last,
// count) for others beside each other.
template <typename Interval, typename Wide, typename Narrow>
void bin(const std::vector<Interval>& all, const TileQuestion& question, Wide wide, Narrow narrow) {
  const Axis axis(question.axis);
  const uint64_t width = column_width(question);
  auto at = std::ranges::partition_point(all, [&](const Interval& one) { return axis.end(one) < question.from; });
  auto first = all.end();
  const auto flush = [&] {
    if (first != all.end()) narrow(first, at);
    first = all.end();
  };
  for (; at != all.end() && axis.start(*at) <= question.to; ++at) {
    if (first != all.end() && axis.start(*at) - axis.end(*(at - 1)) >= width) flush();
    if (axis.end(*at) - axis.start(*at) >= width) {
      flush();
      wide(*at);
    } else if (first == all.end()) {
      first = at;
    }
  }
  flush();
}

bool has_some(const std::vector<Call>& calls, const TileQuestion& question) {
  const Axis axis(question.axis);
  const auto at = std::ranges::partition_point(calls, [&](const Call& one) { return axis.end(one) < question.from; });
  return at != calls.end() && axis.start(*at) <= question.to;
}

void add_depth(const CallIndex& index, size_t depth, const TileQuestion& question, CallTile& tile) {
  const Axis axis(question.axis);
  bin(
      index.depth(depth), question,
      [&](const Call& call) {
        tile.calls.push_back({&call, depth});
      },
      [&](auto first, auto last) {
        if (last - first == 1) return tile.calls.push_back({&*first, depth});
        tile.merged.push_back({axis.start(*first), axis.end(*(last - 1)), depth, static_cast<uint64_t>(last - first)});
      });
}

void add_breaks(const CallIndex& index, const TileQuestion& question, CallTile& tile) {
  const Axis axis(question.axis);
  bin(
      index.breaks(), question,
      [&](const Break& one) {
        tile.breaks.push_back({axis.start(one), axis.end(one), one.gap, 1});
      },
      [&](auto first, auto last) {
        MergedBreaks merged{axis.start(*first), axis.end(*(last - 1)), first->gap, static_cast<uint64_t>(last - first)};
        for (auto one = first; one != last && merged.gap == GapReason::kNone; ++one) merged.gap = one->gap;
        tile.breaks.push_back(merged);
      });
}

}  // namespace

uint64_t column_width(const TileQuestion& question) {
  const uint64_t stretch = question.to > question.from ? question.to - question.from : 0;
  const uint64_t columns = std::max<uint64_t>(question.columns, 1);
  return std::max<uint64_t>(1, stretch / columns + (stretch % columns != 0 ? 1 : 0));
}

CallTile cut_tile(const CallIndex& index, const TileQuestion& question) {
  CallTile tile;
  add_breaks(index, question, tile);
  const size_t first = std::min(question.first_depth, index.depths());
  const size_t end = first + std::min(question.depths, index.depths() - first);
  size_t depth = first;
  for (; depth < end; ++depth) {
    const size_t calls = tile.calls.size(), merged = tile.merged.size();
    add_depth(index, depth, question, tile);
    if (depth == first || tile.calls.size() + tile.merged.size() <= CallTile::kMostMarks) continue;
    tile.calls.resize(calls);
    tile.merged.resize(merged);
    break;
  }
  tile.depths = depth - first;
  for (; depth < end; ++depth) tile.left_out_depths += has_some(index.depth(depth), question) ? 1 : 0;
  return tile;
}

}  // namespace fathom::snapshot
