#include "base/suggest.h"

#include <algorithm>
#include <utility>

namespace fathom {

namespace {

// Words are typed by hand: beyond this, a table of distances is work without sense.
constexpr size_t kLongestWord = 64;

// Nothing: too far to be meant. Of short words few letters are a lot: whoever typed "x" did not mean "os".
std::optional<size_t> near_distance(std::string_view word, std::string_view candidate) {
  const size_t most = std::max(word.size(), candidate.size()) / 3;
  const bool abbreviated = word.size() >= 4 && candidate.starts_with(word);
  if (abbreviated) return candidate.size() == word.size() ? 0 : 1;
  if (std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size()) > most) return std::nullopt;
  const size_t distance = edit_distance(word, candidate);
  return distance <= most ? std::optional(distance) : std::nullopt;
}

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

std::vector<std::string> nearest_few(std::string_view word, const std::vector<std::string>& known, size_t most) {
  std::vector<std::pair<size_t, const std::string*>> near;
  for (const std::string& candidate : known) {
    const auto distance = near_distance(word, candidate);
    if (distance) near.emplace_back(*distance, &candidate);
  }
  std::ranges::stable_sort(near, {}, [](const auto& one) { return one.first; });
  std::vector<std::string> few;
  for (size_t i = 0; i < near.size() && few.size() < most; ++i) {
    if (std::ranges::find(few, *near[i].second) == few.end()) few.push_back(*near[i].second);
  }
  return few;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string> few = nearest_few(word, known, 1);
  return few.empty() ? std::nullopt : std::optional(few.front());
}

std::string did_you_mean(const std::vector<std::string>& meant) {
  std::string text;
  for (size_t i = 0; i < meant.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == meant.size() ? " or " : ", ") + meant[i];
  }
  return text.empty() ? "" : " (did you mean " + text + "?)";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  return did_you_mean(nearest_few(word, known, 1));
}

}  // namespace fathom
