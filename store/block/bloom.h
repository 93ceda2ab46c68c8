// Bloom filters over hashes of (key, value): seven bits each, at ten bits per hash.
//
// Purpose: "no row of this block has key=value", with about 1 % of false alarms and never a miss. Thread safety: pure
// functions. Errors: bytes of any size are a filter; nothing is in an empty one. Source of the idea: Bloom 1970; seven
// positions out of two hashes, Kirsch and Mitzenmacher, "Less Hashing, Same Performance" (2006); filters in cache lines
// (versions 1 and 2 of the format), Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (2009).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fathom::store::block {

// Spreads a pair's hash over 64 bits: pairs of one key may differ in few. One to one.
inline uint64_t spread(uint64_t pair_hash) {
  return (pair_hash == 0 ? 1 : pair_hash) * 0x9e3779b97f4a7c15ULL;
}

// Of distinct spread hashes; appends ten bits for each and 64 at least, none when there are none. Returns the number of
// bytes.
uint32_t append_bloom(std::string& out, std::span<const uint64_t> spread);
bool bloom_may_contain(std::string_view filter, uint64_t spread);
// In filters of versions 1 and 2.
bool lines_may_contain(std::string_view filter, uint64_t spread);

}  // namespace fathom::store::block
