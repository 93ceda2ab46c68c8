#include "store/testing/allocation_meter.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FATHOM_ALLOCATIONS_OF_SANITIZER
#endif
#endif

namespace fathom::store::testing {

namespace {

thread_local bool is_metering = false;
thread_local int64_t held_by_thread = 0;
thread_local int64_t most_by_thread = 0;

void note_allocated(void* memory) {
  if (!is_metering) return;
  held_by_thread += static_cast<int64_t>(malloc_usable_size(memory));
  most_by_thread = std::max(most_by_thread, held_by_thread);
}

void note_freed(void* memory) {
  if (is_metering && memory != nullptr) held_by_thread -= static_cast<int64_t>(malloc_usable_size(memory));
}

}  // namespace

bool AllocationMeter::is_available() {
#if defined(FATHOM_ALLOCATIONS_OF_SANITIZER)
  return false;
#else
  return true;
#endif
}

AllocationMeter::AllocationMeter() {
  held_by_thread = most_by_thread = 0;
  is_metering = true;
}

AllocationMeter::~AllocationMeter() {
  is_metering = false;
}

uint64_t AllocationMeter::most_bytes() const {
  return static_cast<uint64_t>(most_by_thread);
}

void* metered_new(std::size_t size) {
  void* memory = std::malloc(std::max<std::size_t>(size, 1));
  if (memory == nullptr) throw std::bad_alloc();
  note_allocated(memory);
  return memory;
}

void metered_delete(void* memory) {
  note_freed(memory);
  std::free(memory);
}

}  // namespace fathom::store::testing

// The array and sized forms call these two. Sanitizers replace them themselves.
#if !defined(FATHOM_ALLOCATIONS_OF_SANITIZER)
void* operator new(std::size_t size) {
  return fathom::store::testing::metered_new(size);
}
void operator delete(void* memory) noexcept {
  fathom::store::testing::metered_delete(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  fathom::store::testing::metered_delete(memory);
}
#endif
