#include "store/block/bloom.h"

#include <algorithm>

#include "store/block/layout.h"

namespace fathom::store::block {

namespace {

constexpr uint32_t kBitsPerHash = 7;
constexpr size_t kLeastBytes = 8;
constexpr size_t kLineBytes = 64;

uint64_t positions_of(uint64_t spread) {
  return (spread ^ spread >> 31) * 0xbf58476d1ce4e5b9ULL;
}

// Calls `each(bit)` for the bits of a hash; stops when it returns false.
template <typename Each>
bool walk_bits(size_t filter_bytes, uint64_t spread, Each each) {
  uint64_t both = positions_of(spread);
  auto position = static_cast<uint32_t>(both);
  uint32_t step = static_cast<uint32_t>(both >> 32) | 1;
  for (uint32_t i = 0; i < kBitsPerHash; ++i, position += step) {
    // The product's high half: below the number of bits, without a division.
    if (!each(static_cast<size_t>(uint64_t{position} * (filter_bytes * 8) >> 32))) return false;
  }
  return true;
}

bool is_set(std::string_view filter, size_t bit) {
  return (static_cast<uint8_t>(filter[bit / 8]) >> (bit % 8) & 1) != 0;
}

}  // namespace

uint32_t append_bloom(std::string& out, std::span<const uint64_t> spread) {
  if (spread.empty()) return 0;
  // Of a few bits, too many would be set.
  size_t begin = out.size(), bytes = std::max<size_t>((spread.size() * kBloomBitsPerPair + 7) / 8, kLeastBytes);
  out.resize(begin + bytes, '\0');
  for (uint64_t hash : spread) {
    walk_bits(bytes, hash, [&](size_t bit) {
      char& byte = out[begin + bit / 8];
      byte = static_cast<char>(byte | 1 << (bit % 8));
      return true;
    });
  }
  return static_cast<uint32_t>(bytes);
}

bool bloom_may_contain(std::string_view filter, uint64_t spread) {
  if (filter.empty()) return false;
  return walk_bits(filter.size(), spread, [&](size_t bit) { return is_set(filter, bit); });
}

bool lines_may_contain(std::string_view filter, uint64_t spread) {
  size_t lines = filter.size() / kLineBytes;
  size_t line = static_cast<size_t>((static_cast<unsigned __int128>(spread) * lines) >> 64);
  uint64_t bits = positions_of(spread);
  for (uint32_t i = 0; lines != 0 && i < kBitsPerHash; ++i, bits >>= 9) {
    if (!is_set(filter, line * kLineBytes * 8 + (bits & 511))) return false;
  }
  return lines != 0;
}

}  // namespace fathom::store::block
