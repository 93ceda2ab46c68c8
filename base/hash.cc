#include "base/hash.h"

// Most texts are short: a call of the library would take as long as the hash.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fathom {

uint64_t hash64(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Hash128 hash128(std::string_view bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

}  // namespace fathom
