// The pairs of a pool's resource: records of two sizes, a key and a value (client/pool/layout.h).
//
// Thread safety: pure functions. Ownership: a pair points into the text. Hostility: every length is checked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::agent {

struct ResourcePair {
  std::string_view key;
  std::string_view value;
};

// Removes the first pair from the text; nothing: its lengths do not fit the text.
inline std::optional<ResourcePair> next_pair(std::string_view& rest) {
  uint16_t sizes[2];
  if (rest.size() < sizeof sizes) return std::nullopt;
  std::memcpy(sizes, rest.data(), sizeof sizes);
  rest.remove_prefix(sizeof sizes);
  if (size_t{sizes[0]} + sizes[1] > rest.size()) return std::nullopt;
  const ResourcePair pair{rest.substr(0, sizes[0]), rest.substr(sizes[0], sizes[1])};
  rest.remove_prefix(size_t{sizes[0]} + sizes[1]);
  return pair;
}

// Cuts a value that is longer than its size can say.
inline void append_pair(std::string& resource, std::string_view key, std::string_view value) {
  value = value.substr(0, UINT16_MAX);
  const uint16_t sizes[2] = {static_cast<uint16_t>(key.size()), static_cast<uint16_t>(value.size())};
  resource.append(reinterpret_cast<const char*>(sizes), sizeof sizes).append(key).append(value);
}

}  // namespace fathom::agent
