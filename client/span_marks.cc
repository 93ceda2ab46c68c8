#include "client/span_marks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace fathom::client {

// Two questions: whether it has Intel PT at all, for other processors' answers to the second may mean anything.
bool processor_has_ptwrite() {
#if defined(__x86_64__)
  constexpr unsigned kIntelPt = 1U << 25;
  constexpr unsigned kPtwrite = 1U << 4;
  unsigned a, b, c, d;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (b & kIntelPt) == 0) return false;
  return __get_cpuid_count(0x14, 0, &a, &b, &c, &d) != 0 && (b & kPtwrite) != 0;
#else
  return false;
#endif
}

}  // namespace fathom::client
