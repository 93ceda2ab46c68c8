// AllocationMeter: the most memory that this thread held at once, of what it allocated since the meter was made.
//
// Purpose: a query may not take more than it was charged for; a test compares the two. The program's operator new and
// operator delete are replaced (allocation_meter.cc). Thread safety: counts the thread that made it, one meter at a
// time; what another thread frees stays counted. Units: bytes that the allocator reserved.
#pragma once

#include <cstdint>

namespace fathom::store::testing {

class AllocationMeter {
 public:
  AllocationMeter();
  ~AllocationMeter();
  AllocationMeter(const AllocationMeter&) = delete;
  AllocationMeter& operator=(const AllocationMeter&) = delete;

  // False under a sanitizer, which counts nothing here.
  static bool is_available();
  uint64_t most_bytes() const;
};

}  // namespace fathom::store::testing
