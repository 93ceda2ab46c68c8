// Sorting of what is nearly sorted by time: events come in the order of their places, which signal handlers and clocks
// of several processors disturb a little.
//
// Equal ones keep their order. Costs one pass where nothing is wrong, and no more than sorting anew where all is.
#pragma once

#include <algorithm>
#include <vector>

namespace fathom::agent {

template <typename Item, typename Earlier>
void sort_by_time(std::vector<Item>& items, Earlier earlier) {
  auto sorted_end = std::is_sorted_until(items.begin(), items.end(), earlier);
  size_t moves_left = items.size();
  for (; sorted_end != items.end(); ++sorted_end) {
    if (!earlier(*sorted_end, *(sorted_end - 1))) continue;
    auto place = std::upper_bound(items.begin(), sorted_end, *sorted_end, earlier);
    size_t moves = static_cast<size_t>(sorted_end - place);
    if (moves > moves_left) return std::stable_sort(items.begin(), items.end(), earlier);
    moves_left -= moves;
    std::rotate(place, sorted_end, sorted_end + 1);
  }
}

}  // namespace fathom::agent
