#include "descriptions.h"

#include <array>
#include <string_view>
#include <utility>

namespace shop {

namespace {

constexpr std::array<std::string_view, 8> kColours = {"red",  "blue",  "green", "white",
                                                      "grey", "black", "amber", "violet"};
constexpr std::array<std::string_view, 6> kThings = {"lamp", "chair", "clock", "vase", "kettle", "rug"};
constexpr uint32_t kDamaged = 1009;  // every so many-th
constexpr size_t kSentences = 40;

std::string write_description(uint32_t item) {
  std::string text;
  for (size_t i = 0; i < kSentences; ++i) {
    text += "The " + item_name(item) + " goes well with a " + item_name(item * 31 + static_cast<uint32_t>(i)) + ". ";
  }
  return text;
}

}  // namespace

std::string item_name(uint32_t item) {
  std::string name(kColours[item % kColours.size()]);
  return name.append(" ").append(kThings[item / kColours.size() % kThings.size()]).append(" ") + std::to_string(item);
}

std::optional<Descriptions::Found> Descriptions::find(uint32_t item) {
  if (item % kDamaged == kDamaged - 1) return std::nullopt;
  {
    std::lock_guard lock(mutex_);
    auto found = cache_.find(item);
    if (found != cache_.end()) return Found{found->second, true};
  }
  std::string text = write_description(item);
  std::lock_guard lock(mutex_);
  if (cache_.emplace(item, text).second) oldest_first_.push_back(item);
  if (oldest_first_.size() > most_) {
    cache_.erase(oldest_first_.front());
    oldest_first_.pop_front();
  }
  return Found{std::move(text), false};
}

}  // namespace shop
