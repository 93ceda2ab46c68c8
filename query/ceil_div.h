// Division of whole numbers that rounds up.
#pragma once

#include <cstdint>

namespace fathom::query {

inline uint64_t ceil_div(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0);
}

}  // namespace fathom::query
