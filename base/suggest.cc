#include "base/suggest.h"

#include <algorithm>

namespace fathom {

namespace {

// Words are typed by hand: beyond this, a table of distances is work without sense.
constexpr size_t kLongestWord = 64;

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  if (a.size() > kLongestWord || b.size() > kLongestWord) return std::max(a.size(), b.size());
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({change, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  size_t best_distance = SIZE_MAX;
  for (const std::string& candidate : known) {
    bool abbreviated = word.size() >= 4 && candidate.starts_with(word);
    size_t distance = abbreviated ? 1 : edit_distance(word, candidate);
    // Of short words few letters are a lot: whoever typed "x" did not mean "os".
    bool near = distance <= std::max(word.size(), candidate.size()) / 3;
    if (!near || distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  auto found = nearest(word, known);
  return found ? " (did you mean " + *found + "?)" : "";
}

}  // namespace fathom
