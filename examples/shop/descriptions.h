// What is written about each item, and a cache of it, because it takes a while to write.
//
// Thread safety: all functions. Errors: an item whose description is damaged has none.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace shop {

std::string item_name(uint32_t item);

class Descriptions {
 public:
  explicit Descriptions(size_t most) : most_(most) {}

  struct Found {
    std::string text;
    bool from_cache;
  };
  std::optional<Found> find(uint32_t item);

 private:
  const size_t most_;
  std::mutex mutex_;
  std::unordered_map<uint32_t, std::string> cache_;
  std::deque<uint32_t> oldest_first_;
};

}  // namespace shop
