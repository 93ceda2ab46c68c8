// Memory for the few spans that say more than a fathom_span holds.
//
// Purpose: 8 KiB pieces, borrowed from the first text that does not fit until the span's end. Thread safety: lock-free,
// any thread, any signal handler. Ownership: the borrower's until it gives the number back. Errors: none free, and what
// did not fit is dropped and counted by the caller. The pieces take no memory until they are used.
#pragma once

#include <bit>

#include "client/platform.h"
#include "client/pool/layout.h"

namespace fathom::client {

inline constexpr uint32_t kSlabs = 64;

struct alignas(64) Slab {
  char bytes[pool::kMostRecordBytes + 8];  // the end is padded by a whole word
};
extern Slab slab_memory[kSlabs];

struct SlabSet {
  std::atomic<uint64_t> taken;

  // Its number plus one; 0 when all are taken.
  uint32_t borrow() {
    uint64_t before = taken.load(std::memory_order_relaxed);
    while (~before != 0) {
      const int number = std::countr_one(before);
      if (taken.compare_exchange_weak(before, before | uint64_t{1} << number, std::memory_order_acquire))
        return number + 1;
    }
    return 0;
  }
  void give_back(uint32_t number_plus_one) {
    taken.fetch_and(~(uint64_t{1} << (number_plus_one - 1)), std::memory_order_release);
  }
};

inline char* slab_bytes(uint32_t number_plus_one) {
  return slab_memory[number_plus_one - 1].bytes;
}

}  // namespace fathom::client
