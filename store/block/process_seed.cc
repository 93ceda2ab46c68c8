#include "store/block/process_seed.h"

#include <random>

namespace fathom::store::block {

uint64_t process_seed() {
  static const uint64_t seed = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  return seed;
}

}  // namespace fathom::store::block
