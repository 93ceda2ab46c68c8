// Large pages for memory that is about to be filled: the first touch of each small one costs as much as filling it.
//
// Thread safety: all of it. Errors: none: where the system has no large pages, or none left, memory is as it was.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace fathom {

inline constexpr size_t kLargePageBytes = 2 << 20;

// Of the whole large pages within; memory of the heap's, of which nothing was touched yet.
inline void prefer_large_pages(void* memory, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const size_t before = (kLargePageBytes - address % kLargePageBytes) % kLargePageBytes;
  if (bytes < before + kLargePageBytes) return;
  const size_t whole = (bytes - before) / kLargePageBytes * kLargePageBytes;
  ::madvise(static_cast<char*>(memory) + before, whole, MADV_HUGEPAGE);
}

}  // namespace fathom
