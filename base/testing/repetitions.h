// How many repetitions a randomized or stepping test runs. Under a sanitizer it runs a quarter of them.
//
// A sanitizer makes each repetition several times slower, and memory errors show in the first few. The release build
// runs all repetitions, and finds wrong results there.
//
// Thread safety: reads the environment.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace fathom {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif !defined(__has_feature)
inline constexpr bool kSanitized = false;
#else
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#endif

// Whether tests do less: under a sanitizer, unless FATHOM_TEST_FULL is set (`./dev test --full`).
inline bool is_shortened() {
  return kSanitized && std::getenv("FATHOM_TEST_FULL") == nullptr;
}

// Returns `ordinary`, or a quarter of it, rounded up.
inline uint64_t repetitions(uint64_t ordinary) {
  return is_shortened() ? (ordinary + 3) / 4 : ordinary;
}

// A stepping test acts at every instruction (1), or at every third (3). The stride is odd, because the length of a
// stepped loop is often a multiple of two or four: an even stride would then hit the same instructions in each
// iteration.
inline uint64_t repetition_stride() {
  return is_shortened() ? 3 : 1;
}

}  // namespace fathom
