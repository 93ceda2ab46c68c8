#include "snapshot/analyze/activity.h"

#include <algorithm>

namespace fathom::snapshot {
namespace {

constexpr size_t kMostFunctions = 20'000;
constexpr char kOther[] = "(other)";

}  // namespace

void Activity::widen(int shift) {
  for (auto& [name, series] : functions_) {
    std::map<uint64_t, uint64_t> wide;
    for (const auto& [slot, count] : series.slots) wide[slot >> (shift - shift_)] += count;
    series.slots = std::move(wide);
  }
  shift_ = shift;
}

void Activity::fit(uint64_t first, uint64_t last) {
  first_ = std::min(first_, first);
  last_ = std::max(last_, last);
  int shift = shift_;
  while ((last_ >> shift) - (first_ >> shift) >= kMostSlots) ++shift;
  if (shift != shift_) widen(shift);
}

void Activity::add(uint64_t at, const std::string& function, uint64_t instructions) {
  fit(at, at);
  const bool room = functions_.size() < kMostFunctions || functions_.contains(function);
  Series& series = functions_[room ? function : kOther];
  series.instructions += instructions;
  series.slots[at >> shift_] += instructions;
}

void Activity::merge(const Activity& other) {
  if (other.functions_.empty()) return;
  fit(other.first_, other.last_);
  if (other.shift_ > shift_) widen(other.shift_);
  for (const auto& [name, series] : other.functions_) {
    const bool room = functions_.size() < kMostFunctions || functions_.contains(name);
    Series& into = functions_[room ? name : kOther];
    into.instructions += series.instructions;
    for (const auto& [slot, count] : series.slots) into.slots[slot >> (shift_ - other.shift_)] += count;
  }
}

std::vector<Activity::Series> Activity::busiest(size_t most) const {
  std::vector<Series> all;
  for (const auto& [name, series] : functions_) {
    all.push_back(series);
    all.back().name = name;
  }
  std::ranges::stable_sort(all, [](const Series& a, const Series& b) { return a.instructions > b.instructions; });
  if (all.size() <= most) return all;
  Series rest{kOther, 0, {}};
  for (size_t i = most; i < all.size(); ++i) {
    rest.instructions += all[i].instructions;
    for (const auto& [slot, count] : all[i].slots) rest.slots[slot] += count;
  }
  all.resize(most);
  all.push_back(std::move(rest));
  return all;
}

}  // namespace fathom::snapshot
