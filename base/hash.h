// Hashes over bytes: XXH3, seeded where the input is chosen by others and the table must not degenerate.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace fathom {

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const Hash128&) const = default;
};

uint64_t hash64(std::string_view bytes, uint64_t seed = 0);
Hash128 hash128(std::string_view bytes);

}  // namespace fathom
