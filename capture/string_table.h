// StringTable: gives each text a number, in the order of their first use; the empty one is 0.
//
// Thread safety: none. Ownership: none: texts must outlive it.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fathom::capture {

class StringTable {
 public:
  uint32_t number_of(std::string_view text) {
    if (text == texts_[last_]) return last_;  // the same as before more often than not
    auto [place, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return last_ = place->second;
  }
  const std::vector<std::string_view>& texts() const { return texts_; }

 private:
  std::vector<std::string_view> texts_{{}};
  std::unordered_map<std::string_view, uint32_t> numbers_{{{}, 0}};
  uint32_t last_ = 0;
};

}  // namespace fathom::capture
