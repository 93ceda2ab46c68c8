#include "store/block/bloom.h"

#include <algorithm>

#include "store/block/process_seed.h"

namespace fathom::store::block {

namespace {

constexpr int kBitsPerHash = 7;

// Calls `each(byte, mask)` for the bits of a hash; stops when it returns false.
template <typename Each>
bool walk_bits(size_t lines, uint64_t hash, Each each) {
  // Pair hashes may be all that differs in high or low bits; one multiplication spreads them again.
  hash = (hash == 0 ? 1 : hash) * 0x9e3779b97f4a7c15ULL;
  size_t line = static_cast<size_t>((static_cast<unsigned __int128>(hash) * lines) >> 64);
  uint64_t bits = (hash ^ hash >> 31) * 0xbf58476d1ce4e5b9ULL;
  for (int i = 0; i < kBitsPerHash; ++i, bits >>= 9) {
    size_t bit = bits & 511;
    if (!each(line * kBloomLineBytes + bit / 8, static_cast<uint8_t>(1u << (bit % 8)))) return false;
  }
  return true;
}

}  // namespace

void HashSet::insert(uint64_t hash) {
  if (hash == 0) hash = 1;
  if ((size_ + 1) * 2 > slots_.size()) grow();
  size_t mask = slots_.size() - 1;
  size_t at = (hash * (process_seed() | 1)) >> 32 & mask;
  while (slots_[at] != 0 && slots_[at] != hash) at = (at + 1) & mask;
  if (slots_[at] == 0) ++size_;
  slots_[at] = hash;
}

void HashSet::clear() {
  std::fill(slots_.begin(), slots_.end(), 0);
  size_ = 0;
}

void HashSet::grow() {
  std::vector<uint64_t> old(std::max<size_t>(1024, slots_.size() * 2), 0);
  old.swap(slots_);
  size_ = 0;
  for (uint64_t hash : old) {
    if (hash != 0) insert(hash);
  }
}

uint32_t append_bloom(std::string& out, const HashSet& hashes, uint32_t bits_per_hash) {
  size_t bits = hashes.size() * bits_per_hash;
  size_t lines = (bits + 8 * kBloomLineBytes - 1) / (8 * kBloomLineBytes);
  size_t begin = out.size();
  out.resize(begin + lines * kBloomLineBytes, '\0');
  hashes.for_each([&](uint64_t hash) {
    walk_bits(lines, hash, [&](size_t byte, uint8_t mask) {
      out[begin + byte] = static_cast<char>(out[begin + byte] | mask);
      return true;
    });
  });
  return static_cast<uint32_t>(lines);
}

bool bloom_may_contain(std::string_view filter, uint64_t hash) {
  size_t lines = filter.size() / kBloomLineBytes;
  if (lines == 0) return false;
  return walk_bits(lines, hash, [&](size_t byte, uint8_t mask) { return (filter[byte] & mask) != 0; });
}

}  // namespace fathom::store::block
