// "Did you mean ...?": the nearest of the known words, when one is near enough to be meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom {

// Letters to change, add, leave out or swap until `a` is `b`.
size_t edit_distance(std::string_view a, std::string_view b);

// Those that are near enough to be meant, the nearest first, each once; equally near ones as they stand in `known`.
std::vector<std::string> nearest_few(std::string_view word, const std::vector<std::string>& known, size_t most);
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

// " (did you mean X?)", or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);
// " (did you mean X, Y or Z?)", or nothing.
std::string did_you_mean(const std::vector<std::string>& meant);

}  // namespace fathom
